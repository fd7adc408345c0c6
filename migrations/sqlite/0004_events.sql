-- minimum reader: 3
-- Who changed tags and freed workers, and when. Grants write none of it: the triggers go by columns that they leave alone.

-- update_time is the last grant from now on.
ALTER TABLE leaf_alloc ADD COLUMN changed_at TEXT;  -- when somebody added or changed it
ALTER TABLE leaf_alloc ADD COLUMN changed_by TEXT;
ALTER TABLE leaf_worker ADD COLUMN freed_by TEXT;
UPDATE leaf_alloc SET changed_at = update_time;

-- The last 10,000 changes of tags, and the last 10,000 workers that were freed.
CREATE TABLE leaf_event (
  event_id INTEGER PRIMARY KEY,
  happened_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  who TEXT,  -- NULL: not by leafctl
  event TEXT NOT NULL,
  biz_tag TEXT,
  worker_id INTEGER,
  detail TEXT
) STRICT;

CREATE TRIGGER leaf_event_kept AFTER INSERT ON leaf_event
BEGIN
  DELETE FROM leaf_event WHERE (event = 'free') = (NEW.event = 'free') AND event_id <= (SELECT event_id
    FROM leaf_event WHERE (event = 'free') = (NEW.event = 'free') ORDER BY event_id DESC LIMIT 1 OFFSET 10000);
END;

CREATE TRIGGER leaf_alloc_added AFTER INSERT ON leaf_alloc
BEGIN
  INSERT INTO leaf_event (who, event, biz_tag, detail) VALUES (NEW.changed_by, 'add', NEW.biz_tag,
    'next_id ' || NEW.max_id || ', step ' || NEW.step || ', limit ' || coalesce(NEW.id_limit, 'none'));
END;

CREATE TRIGGER leaf_alloc_added_again AFTER UPDATE OF removed_at ON leaf_alloc
WHEN OLD.removed_at IS NOT NULL AND NEW.removed_at IS NULL
BEGIN
  INSERT INTO leaf_event (who, event, biz_tag, detail)
  VALUES (CASE WHEN NEW.changed_at IS NOT OLD.changed_at THEN NEW.changed_by END, 'add', NEW.biz_tag,
    'next_id ' || NEW.max_id || ', step ' || NEW.step || ', limit ' || coalesce(NEW.id_limit, 'none'));
END;

CREATE TRIGGER leaf_alloc_changed AFTER UPDATE OF step, id_limit, description, removed_at, changed_at ON leaf_alloc
WHEN NOT (OLD.removed_at IS NOT NULL AND NEW.removed_at IS NULL)
  AND (NEW.step <> OLD.step OR NEW.id_limit IS NOT OLD.id_limit OR NEW.description IS NOT OLD.description
       OR NEW.removed_at IS NOT OLD.removed_at OR NEW.max_id <> OLD.max_id)
BEGIN
  INSERT INTO leaf_event (who, event, biz_tag, detail)
  VALUES (CASE WHEN NEW.changed_at IS NOT OLD.changed_at THEN NEW.changed_by END,
    CASE WHEN NEW.removed_at IS NOT NULL THEN 'remove'
         WHEN NEW.step = OLD.step AND NEW.id_limit IS OLD.id_limit AND NEW.description IS OLD.description THEN 'raise'
         ELSE 'update' END,
    NEW.biz_tag,
    nullif(substr(
      CASE WHEN NEW.max_id <> OLD.max_id THEN ', next_id ' || OLD.max_id || ' to ' || NEW.max_id ELSE '' END
      || CASE WHEN NEW.step <> OLD.step THEN ', step ' || OLD.step || ' to ' || NEW.step ELSE '' END
      || CASE WHEN NEW.id_limit IS NOT OLD.id_limit
              THEN ', limit ' || coalesce(OLD.id_limit, 'none') || ' to ' || coalesce(NEW.id_limit, 'none') ELSE '' END
      || CASE WHEN NEW.description IS NOT OLD.description THEN ', description' ELSE '' END, 3), ''));
END;

-- Who frees a worker by command sets freed_by; a holder that gives its own back does not.
CREATE TRIGGER leaf_worker_freed AFTER UPDATE OF freed_by ON leaf_worker
WHEN OLD.owner IS NOT NULL AND NEW.owner IS NULL
BEGIN
  INSERT INTO leaf_event (who, event, worker_id, detail)
  VALUES (NEW.freed_by, 'free', NEW.worker_id, 'of ' || OLD.owner);
END;
