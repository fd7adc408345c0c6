-- A runtime role may write these tables, and nothing that it writes makes an ID come again. What rights on columns
-- cannot tell is told here. It can use up IDs and workers, and that is what drawing and leasing need.

-- Whoever may read a token could give up what its holder has used. So a row keeps the hash of a key that only the
-- holder knows, and who gives a window back sets the token to the key. Tokens of before were there to be read: their
-- holders lease anew.
UPDATE leaf.leaf_worker SET token = gen_random_uuid() WHERE token IS NOT NULL;
COMMENT ON COLUMN leaf.leaf_worker.token IS
  'the hash of the key of the holder, who may extend the window; NULL: it was given up';

-- What it was for has gone.
ALTER TABLE leaf.leaf_worker DROP COLUMN grant_before;

-- Times and distances that every statement can calculate with.
ALTER TABLE leaf.leaf_worker ADD CONSTRAINT leaf_worker_times CHECK (
  window_end BETWEEN 0 AND 9007199254740991 AND held_after BETWEEN 0 AND 9007199254740991
  AND renewed_at BETWEEN 0 AND 9007199254740991 AND clock_offset BETWEEN -9007199254740991 AND 9007199254740991);

CREATE OR REPLACE FUNCTION leaf.leaf_worker_refuse() RETURNS trigger LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  IF TG_OP = 'UPDATE' AND TG_NAME = 'leaf_worker_never_back' THEN
    -- The holder gives up what it has not used, and shows the key.
    IF NEW.worker_id = OLD.worker_id AND NEW.held_after = OLD.held_after
       AND NEW.window_end BETWEEN OLD.held_after AND OLD.window_end
       AND OLD.token = left(encode(sha256(uuid_send(NEW.token)), 'hex'), 32)::uuid
    THEN
      NEW.token := NULL;
      RETURN NEW;
    END IF;
  ELSIF TG_OP IN ('INSERT', 'UPDATE') THEN
    RAISE EXCEPTION 'worker % may not be taken for longer than three days', NEW.worker_id
      USING ERRCODE = 'check_violation';
  END IF;
  RAISE EXCEPTION 'a worker may not be deleted, nor its window go back but by who holds it'
    USING ERRCODE = 'check_violation', HINT = 'free a worker with leafctl workers recycle';
END
$body$;

-- A worker is taken where its last window ended, renewed, or freed. All else has to be a giving up.
DROP TRIGGER leaf_worker_never_back ON leaf.leaf_worker;
CREATE TRIGGER leaf_worker_never_back BEFORE UPDATE ON leaf.leaf_worker FOR EACH ROW
  WHEN (NOT (NEW.worker_id = OLD.worker_id AND NEW.window_end >= OLD.window_end
             AND (NEW.held_after = OLD.window_end AND NEW.token IS NOT NULL
                  OR NEW.held_after = OLD.held_after
                     AND (NEW.token IS NULL OR NEW.token IS NOT DISTINCT FROM OLD.token))))
  EXECUTE FUNCTION leaf.leaf_worker_refuse();

-- No window is longer than a day, and the next one is leased in advance. What is taken beyond is lost for good,
-- and an owner who was heard of in the future is never silent.
CREATE TRIGGER leaf_worker_not_for_good BEFORE INSERT ON leaf.leaf_worker FOR EACH ROW
  WHEN (NEW.window_end > extract(epoch FROM clock_timestamp()) * 1000 + 3 * 86400000
        OR NEW.renewed_at > extract(epoch FROM clock_timestamp()) * 1000 + 60000)
  EXECUTE FUNCTION leaf.leaf_worker_refuse();
CREATE TRIGGER leaf_worker_not_kept_for_good BEFORE UPDATE ON leaf.leaf_worker FOR EACH ROW
  WHEN (NEW.window_end > OLD.window_end
        AND NEW.window_end > extract(epoch FROM clock_timestamp()) * 1000 + 3 * 86400000
        OR NEW.renewed_at > OLD.renewed_at
           AND NEW.renewed_at > extract(epoch FROM clock_timestamp()) * 1000 + 60000)
  EXECUTE FUNCTION leaf.leaf_worker_refuse();

CREATE FUNCTION leaf.leaf_meta_refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  RAISE EXCEPTION 'next_worker only goes on by one, and a layout that is fixed stays so'
    USING ERRCODE = 'check_violation';
END
$body$;
CREATE TRIGGER leaf_meta_never_back BEFORE UPDATE ON leaf.leaf_meta FOR EACH ROW
  WHEN (NEW.next_worker NOT IN (OLD.next_worker, OLD.next_worker + 1) OR OLD.layout_fixed AND NOT NEW.layout_fixed)
  EXECUTE FUNCTION leaf.leaf_meta_refuse();

-- The guard goes by the size of the last grant, and a time that is no time cannot be listed.
CREATE OR REPLACE FUNCTION leaf.leaf_alloc_refuse() RETURNS trigger LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  IF TG_OP = 'UPDATE' AND NEW.biz_tag <> OLD.biz_tag THEN
    RAISE EXCEPTION 'tag ''%'' may not be renamed: its IDs could come again under the old name', OLD.biz_tag
      USING ERRCODE = 'check_violation';
  ELSIF TG_OP = 'UPDATE' AND NEW.max_id < OLD.max_id THEN
    RAISE EXCEPTION 'tag ''%'': max_id may not go back from % to %', OLD.biz_tag, OLD.max_id, NEW.max_id
      USING ERRCODE = 'check_violation';
  ELSIF TG_OP = 'UPDATE' THEN
    RAISE EXCEPTION 'tag ''%'': last_grant has to be what max_id goes on by, and update_time a time', OLD.biz_tag
      USING ERRCODE = 'check_violation';
  END IF;
  RAISE EXCEPTION 'rows of leaf_alloc may not be deleted'
    USING ERRCODE = 'check_violation', HINT = 'remove a tag with leafctl tags remove';
END
$body$;
DROP TRIGGER leaf_alloc_never_back ON leaf.leaf_alloc;
CREATE TRIGGER leaf_alloc_never_back BEFORE UPDATE ON leaf.leaf_alloc FOR EACH ROW
  WHEN (NEW.max_id < OLD.max_id OR NEW.biz_tag <> OLD.biz_tag OR NOT isfinite(NEW.update_time)
        OR NEW.last_grant <> OLD.last_grant AND NEW.incarnation = OLD.incarnation
           AND (NEW.last_grant < 1 OR NEW.last_grant <> NEW.max_id - OLD.max_id))
  EXECUTE FUNCTION leaf.leaf_alloc_refuse();

-- Of a function that takes a regclass and one that takes an oid the first would be called, whoever made it.
DO $exact$
BEGIN
  EXECUTE replace(pg_get_functiondef('leaf.leaf_alloc_guard'::regproc), 'TG_TABLE_SCHEMA)::regclass;',
                  'TG_TABLE_SCHEMA)::regclass::oid;');
END
$exact$;
