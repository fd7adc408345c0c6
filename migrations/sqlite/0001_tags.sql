-- Tags, in a table with Leaf's columns.

CREATE TABLE leaf_alloc (
  biz_tag TEXT PRIMARY KEY NOT NULL,
  max_id INTEGER NOT NULL DEFAULT 1,      -- the first ID that has not been granted
  step INTEGER NOT NULL,
  description TEXT,
  update_time TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  start_id INTEGER,
  id_limit INTEGER,                       -- the last ID that may be granted
  last_grant INTEGER NOT NULL DEFAULT 0,  -- how many IDs the last grant took, so that it can return where it began
  incarnation TEXT NOT NULL,
  removed_at TEXT                         -- a removed tag stays, so that it cannot come back lower
) STRICT, WITHOUT ROWID;

CREATE TRIGGER leaf_alloc_never_back BEFORE UPDATE ON leaf_alloc
WHEN NEW.max_id < OLD.max_id OR NEW.biz_tag <> OLD.biz_tag
BEGIN
  SELECT RAISE(ABORT, 'max_id of a tag may not go back');
END;

CREATE TRIGGER leaf_alloc_never_gone BEFORE DELETE ON leaf_alloc
BEGIN
  SELECT RAISE(ABORT, 'rows of leaf_alloc may not be deleted: remove a tag with leafctl tags remove');
END;

CREATE TABLE leaf_meta (
  only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
  schema_version INTEGER NOT NULL,
  deployment TEXT NOT NULL
) STRICT;

INSERT INTO leaf_meta (only_row, schema_version, deployment) VALUES (1, 0,
  (SELECT substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-4' || substr(h, 14, 3) || '-' ||
          substr('89ab', 1 + (unicode(substr(h, 17, 1)) & 3), 1) || substr(h, 18, 3) || '-' || substr(h, 21)
   FROM (SELECT lower(hex(randomblob(16))) AS h)));

PRAGMA application_id = 0x4C454146;
