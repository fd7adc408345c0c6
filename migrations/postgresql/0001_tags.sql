-- Tags, in Leaf's own table. A table that Leaf's users made is brought under leafctl with its rows as they are.
-- In all of these files what lies in the store's schema is named as if that were called leaf; its name takes the place.
-- The search_path is pg_catalog alone: nothing that others made in any schema is taken for something built in.

CREATE TABLE IF NOT EXISTS leaf.leaf_alloc (
  biz_tag varchar(128) PRIMARY KEY,
  max_id bigint NOT NULL DEFAULT 1,
  step integer NOT NULL,
  description varchar(256),
  update_time timestamptz NOT NULL DEFAULT now()
);

-- Nobody may add a row between the checks and the changes.
LOCK TABLE leaf.leaf_alloc IN ACCESS EXCLUSIVE MODE;

-- What a taken-over table may lack: a key on biz_tag, a default for its id column, wide enough columns, a zone.
DO $takeover$
DECLARE
  kind text;
BEGIN
  -- It may have been made since init-db looked. Who owns it can no longer change.
  IF NOT EXISTS (
    SELECT FROM pg_class c JOIN pg_roles o ON o.oid = c.relowner JOIN pg_roles me ON me.rolname = current_user
    WHERE c.oid = 'leaf.leaf_alloc'::regclass
      AND (o.oid = me.oid OR o.rolsuper OR NOT me.rolsuper AND pg_has_role(me.oid, o.oid, 'MEMBER')))
  THEN
    RAISE EXCEPTION 'leaf_alloc belongs to another role';
  END IF;
  -- Triggers of a partition know the partition's name and file, not the table's.
  IF EXISTS (SELECT FROM pg_class WHERE oid = 'leaf.leaf_alloc'::regclass AND relkind <> 'r') THEN
    RAISE EXCEPTION 'leaf_alloc is partitioned: move its rows to a plain table first';
  END IF;
  IF EXISTS (SELECT FROM leaf.leaf_alloc WHERE biz_tag IS NULL OR max_id IS NULL OR step IS NULL) THEN
    RAISE EXCEPTION 'leaf_alloc has rows without biz_tag, max_id or step';
  END IF;
  IF EXISTS (SELECT FROM leaf.leaf_alloc WHERE max_id < 0) THEN
    RAISE EXCEPTION 'leaf_alloc has rows with a max_id below 0, which no ID may have';
  END IF;
  IF EXISTS (SELECT FROM leaf.leaf_alloc GROUP BY biz_tag HAVING count(*) > 1) THEN
    RAISE EXCEPTION 'leaf_alloc has more than one row for a biz_tag';
  END IF;
  SELECT CASE WHEN bool_and(i.indimmediate) THEN 'fit' ELSE 'deferrable' END INTO kind
  FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
  WHERE i.indrelid = 'leaf.leaf_alloc'::regclass AND i.indisunique AND i.indnkeyatts = 1 AND i.indpred IS NULL
    AND i.indisvalid AND a.attname = 'biz_tag'
  HAVING count(*) > 0;
  IF kind = 'deferrable' THEN
    RAISE EXCEPTION 'leaf_alloc has a deferrable key on biz_tag: drop it first, so that a plain one can be made';
  ELSIF kind IS NULL THEN
    ALTER TABLE leaf.leaf_alloc ADD UNIQUE (biz_tag);
  END IF;
  IF EXISTS (
    SELECT FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
    WHERE a.attrelid = 'leaf.leaf_alloc'::regclass AND a.attname = 'id' AND NOT a.attisdropped
      AND a.attnotnull AND a.attidentity = '' AND d.oid IS NULL)
  THEN
    CREATE SEQUENCE leaf.leaf_alloc_id_seq OWNED BY leaf.leaf_alloc.id;
    PERFORM setval('leaf.leaf_alloc_id_seq', coalesce(max(id), 0) + 1, false) FROM leaf.leaf_alloc;
    ALTER TABLE leaf.leaf_alloc ALTER COLUMN id SET DEFAULT nextval('leaf.leaf_alloc_id_seq');
  END IF;
  SELECT format_type(atttypid, atttypmod) INTO kind FROM pg_attribute
  WHERE attrelid = 'leaf.leaf_alloc'::regclass AND attname = 'max_id';
  IF kind <> 'bigint' THEN
    ALTER TABLE leaf.leaf_alloc ALTER COLUMN max_id TYPE bigint;
  END IF;
  IF EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'leaf.leaf_alloc'::regclass AND attname = 'step'
             AND atttypid = 'smallint'::regtype)
  THEN
    ALTER TABLE leaf.leaf_alloc ALTER COLUMN step TYPE integer;
  END IF;
  FOR kind IN
    SELECT attname FROM pg_attribute
    WHERE attrelid = 'leaf.leaf_alloc'::regclass AND attname IN ('biz_tag', 'description') AND NOT attisdropped
      AND atttypid <> 'text'::regtype
      AND NOT (atttypid = 'varchar'::regtype
               AND (atttypmod = -1 OR atttypmod - 4 >= CASE attname WHEN 'biz_tag' THEN 128 ELSE 256 END))
  LOOP
    EXECUTE format('ALTER TABLE %s ALTER COLUMN %I TYPE varchar(%s)', 'leaf.leaf_alloc'::regclass, kind,
                   CASE kind WHEN 'biz_tag' THEN 128 ELSE 256 END);
  END LOOP;
  SELECT format_type(atttypid, NULL) INTO kind FROM pg_attribute
  WHERE attrelid = 'leaf.leaf_alloc'::regclass AND attname = 'update_time' AND NOT attisdropped;
  IF kind IS NULL THEN
    ALTER TABLE leaf.leaf_alloc ADD COLUMN update_time timestamptz NOT NULL DEFAULT now();
  ELSIF kind <> 'timestamp with time zone' THEN
    ALTER TABLE leaf.leaf_alloc ALTER COLUMN update_time DROP DEFAULT;
    ALTER TABLE leaf.leaf_alloc ALTER COLUMN update_time TYPE timestamptz USING update_time::timestamptz;
  END IF;
END
$takeover$;

UPDATE leaf.leaf_alloc SET update_time = now() WHERE update_time IS NULL;

ALTER TABLE leaf.leaf_alloc ADD COLUMN IF NOT EXISTS description varchar(256);
ALTER TABLE leaf.leaf_alloc
  ALTER COLUMN biz_tag SET NOT NULL,
  ALTER COLUMN max_id SET NOT NULL,
  ALTER COLUMN max_id SET DEFAULT 1,
  ALTER COLUMN step SET NOT NULL,
  ALTER COLUMN update_time SET DEFAULT now(),
  ALTER COLUMN update_time SET NOT NULL,
  ALTER COLUMN description DROP NOT NULL,
  ADD COLUMN start_id bigint,
  ADD COLUMN id_limit bigint,
  ADD COLUMN last_grant bigint NOT NULL DEFAULT 0,
  ADD COLUMN incarnation uuid NOT NULL DEFAULT gen_random_uuid(),
  ADD COLUMN removed_at timestamptz;

COMMENT ON COLUMN leaf.leaf_alloc.max_id IS 'the first ID that has not been granted';
COMMENT ON COLUMN leaf.leaf_alloc.id_limit IS 'the last ID that may be granted';
COMMENT ON COLUMN leaf.leaf_alloc.last_grant IS
  'how many IDs the last grant took, so that it can return where it began';
COMMENT ON COLUMN leaf.leaf_alloc.removed_at IS 'a removed tag stays, so that it cannot come back lower';

CREATE FUNCTION leaf.leaf_alloc_refuse() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  IF TG_OP = 'UPDATE' AND NEW.biz_tag <> OLD.biz_tag THEN
    RAISE EXCEPTION 'tag ''%'' may not be renamed: its IDs could come again under the old name', OLD.biz_tag
      USING ERRCODE = 'check_violation';
  ELSIF TG_OP = 'UPDATE' THEN
    RAISE EXCEPTION 'tag ''%'': max_id may not go back from % to %', OLD.biz_tag, OLD.max_id, NEW.max_id
      USING ERRCODE = 'check_violation';
  END IF;
  RAISE EXCEPTION 'rows of leaf_alloc may not be deleted'
    USING ERRCODE = 'check_violation', HINT = 'remove a tag with leafctl tags remove';
END
$body$;

-- The condition keeps the function out of every ordinary grant.
CREATE TRIGGER leaf_alloc_never_back BEFORE UPDATE ON leaf.leaf_alloc
  FOR EACH ROW WHEN (NEW.max_id < OLD.max_id OR NEW.biz_tag <> OLD.biz_tag) EXECUTE FUNCTION leaf.leaf_alloc_refuse();
CREATE TRIGGER leaf_alloc_never_gone BEFORE DELETE ON leaf.leaf_alloc
  FOR EACH ROW EXECUTE FUNCTION leaf.leaf_alloc_refuse();
CREATE TRIGGER leaf_alloc_never_emptied BEFORE TRUNCATE ON leaf.leaf_alloc
  FOR EACH STATEMENT EXECUTE FUNCTION leaf.leaf_alloc_refuse();

CREATE TABLE leaf.leaf_meta (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  schema_version integer NOT NULL,
  deployment uuid NOT NULL DEFAULT gen_random_uuid()
);
INSERT INTO leaf.leaf_meta (schema_version) VALUES (0);
