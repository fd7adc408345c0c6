-- minimum reader: 6
-- Who changed tags and freed workers, and when. Grants write none of it: the triggers go by columns that they leave alone.

-- update_time is the last grant from now on. A rewrite in place of an UPDATE: no trigger takes it for a change.
ALTER TABLE leaf.leaf_alloc ADD COLUMN changed_at timestamptz;
ALTER TABLE leaf.leaf_alloc ALTER COLUMN changed_at TYPE timestamptz USING update_time;
ALTER TABLE leaf.leaf_alloc ALTER COLUMN changed_at SET DEFAULT now();

COMMENT ON COLUMN leaf.leaf_alloc.changed_at IS 'when somebody added or changed it; update_time is the last grant';

CREATE TABLE leaf.leaf_event (
  event_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  happened_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  who text NOT NULL DEFAULT session_user,
  program text DEFAULT nullif(current_setting('application_name'), ''),
  event text NOT NULL,
  biz_tag varchar,
  worker_id integer,
  detail text
);

COMMENT ON TABLE leaf.leaf_event IS 'the last 10,000 changes of tags, and the last 10,000 workers that were freed';

-- Apart: a runtime role may free workers as often as it likes, and does not push the changes of tags out by that.
CREATE FUNCTION leaf.leaf_event_kept() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  EXECUTE format('DELETE FROM %1$I.leaf_event USING'
                 ' (SELECT (SELECT event_id FROM %1$I.leaf_event WHERE event = ''free'''
                 ' ORDER BY event_id DESC OFFSET 10000 LIMIT 1) AS free,'
                 ' (SELECT event_id FROM %1$I.leaf_event WHERE event <> ''free'''
                 ' ORDER BY event_id DESC OFFSET 10000 LIMIT 1) AS other) AS first_to_go'
                 ' WHERE event_id <= CASE event WHEN ''free'' THEN free ELSE other END', TG_TABLE_SCHEMA);
  RETURN NULL;
END
$body$;
CREATE TRIGGER leaf_event_kept AFTER INSERT ON leaf.leaf_event
  FOR EACH STATEMENT EXECUTE FUNCTION leaf.leaf_event_kept();

-- As its owner: whoever may change a tag or free a worker need not have a right on leaf_event. So it writes to the owner's
-- table alone: else anybody could hang it on a table of his own, and have the owner run the triggers of another one beside it.
CREATE FUNCTION leaf.leaf_record_event() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
  SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  event text;
  tag varchar;
  worker integer;
  detail text;
BEGIN
  IF TG_TABLE_NAME NOT IN ('leaf_alloc', 'leaf_worker')
     OR NOT EXISTS (SELECT FROM pg_class WHERE oid = to_regclass(format('%I.leaf_event', TG_TABLE_SCHEMA))
                    AND pg_get_userbyid(relowner) = current_user)
  THEN
    RAISE EXCEPTION 'no table leaf_event of % is beside table %', current_user, TG_TABLE_NAME
      USING ERRCODE = 'insufficient_privilege';
  END IF;
  IF TG_TABLE_NAME = 'leaf_worker' THEN
    event := 'free';
    worker := NEW.worker_id;
    detail := format('of %s', OLD.owner);
  ELSE
    tag := NEW.biz_tag;
    IF TG_OP = 'INSERT' OR OLD.removed_at IS NOT NULL AND NEW.removed_at IS NULL THEN
      event := 'add';
      detail := format('next_id %s, step %s, limit %s', NEW.max_id, NEW.step, coalesce(NEW.id_limit::text, 'none'));
    ELSE
      event := CASE WHEN NEW.removed_at IS NOT NULL THEN 'remove'
                    WHEN (NEW.step, NEW.id_limit, NEW.description) IS NOT DISTINCT FROM
                         (OLD.step, OLD.id_limit, OLD.description) THEN 'raise'
                    ELSE 'update' END;
      detail := concat_ws(', ',
        CASE WHEN NEW.max_id <> OLD.max_id THEN format('next_id %s to %s', OLD.max_id, NEW.max_id) END,
        CASE WHEN NEW.step <> OLD.step THEN format('step %s to %s', OLD.step, NEW.step) END,
        CASE WHEN NEW.id_limit IS DISTINCT FROM OLD.id_limit
             THEN format('limit %s to %s', coalesce(OLD.id_limit::text, 'none'), coalesce(NEW.id_limit::text, 'none')) END,
        CASE WHEN NEW.description IS DISTINCT FROM OLD.description THEN 'description' END);
    END IF;
  END IF;
  EXECUTE format('INSERT INTO %I.leaf_event (event, biz_tag, worker_id, detail) VALUES ($1, $2, $3, $4)', TG_TABLE_SCHEMA)
  USING event, tag, worker, nullif(detail, '');
  RETURN NULL;
END
$body$;
REVOKE EXECUTE ON FUNCTION leaf.leaf_record_event() FROM PUBLIC;

CREATE TRIGGER leaf_alloc_added AFTER INSERT ON leaf.leaf_alloc FOR EACH ROW EXECUTE FUNCTION leaf.leaf_record_event();
CREATE TRIGGER leaf_alloc_changed
  AFTER UPDATE OF step, id_limit, description, removed_at, incarnation, changed_at ON leaf.leaf_alloc FOR EACH ROW
  WHEN ((NEW.step, NEW.id_limit, NEW.description, NEW.removed_at, NEW.max_id)
        IS DISTINCT FROM (OLD.step, OLD.id_limit, OLD.description, OLD.removed_at, OLD.max_id))
  EXECUTE FUNCTION leaf.leaf_record_event();

-- Who frees a worker by command sets held_after, to what it was; a holder that gives its own back does not.
CREATE TRIGGER leaf_worker_freed AFTER UPDATE OF held_after ON leaf.leaf_worker FOR EACH ROW
  WHEN (OLD.owner IS NOT NULL AND NEW.owner IS NULL) EXECUTE FUNCTION leaf.leaf_record_event();
