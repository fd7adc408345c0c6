-- Workers of snowflake IDs, and the layout that they share. Times are Unix milliseconds, as in the IDs.

CREATE TABLE leaf.leaf_worker (
  worker_id integer PRIMARY KEY CHECK (worker_id >= 0),
  owner varchar(255),
  token uuid,
  window_end bigint NOT NULL,
  renewed_at bigint NOT NULL,
  held_after bigint NOT NULL,
  clock_offset bigint NOT NULL,
  grant_before bigint
);

COMMENT ON COLUMN leaf.leaf_worker.owner IS 'who holds it or held it last; NULL: free';
COMMENT ON COLUMN leaf.leaf_worker.token IS 'of the holder that may extend the window; NULL: it was given up';
COMMENT ON COLUMN leaf.leaf_worker.window_end IS 'outlives the owner: the next window starts here or later';
COMMENT ON COLUMN leaf.leaf_worker.held_after IS 'window_end when the holder took it: giving up leads no further back';
COMMENT ON COLUMN leaf.leaf_worker.renewed_at IS 'the last grant, by the clock of this database';
COMMENT ON COLUMN leaf.leaf_worker.clock_offset IS 'the clock of the holder less that of this database';
COMMENT ON COLUMN leaf.leaf_worker.grant_before IS
  'the latest renewed_at of all workers just before: tells when the clock went back';

CREATE FUNCTION leaf.leaf_worker_refuse() RETURNS trigger LANGUAGE plpgsql AS $body$
BEGIN
  RAISE EXCEPTION 'a worker may not be deleted, nor its window go back but by who holds it'
    USING ERRCODE = 'check_violation', HINT = 'free a worker with leafctl workers recycle';
END
$body$;

-- Only a holder that gives up what it has not used lowers window_end.
CREATE TRIGGER leaf_worker_never_back BEFORE UPDATE ON leaf.leaf_worker FOR EACH ROW
  WHEN (NEW.worker_id <> OLD.worker_id
        OR NEW.window_end < OLD.window_end
           AND NOT (OLD.token IS NOT NULL AND NEW.token IS NULL AND NEW.window_end >= OLD.held_after))
  EXECUTE FUNCTION leaf.leaf_worker_refuse();
CREATE TRIGGER leaf_worker_never_gone BEFORE DELETE ON leaf.leaf_worker
  FOR EACH ROW EXECUTE FUNCTION leaf.leaf_worker_refuse();
CREATE TRIGGER leaf_worker_never_emptied BEFORE TRUNCATE ON leaf.leaf_worker
  FOR EACH STATEMENT EXECUTE FUNCTION leaf.leaf_worker_refuse();

-- next_worker: all below it were taken once. Those who claim a new worker queue for this row.
ALTER TABLE leaf.leaf_meta
  ADD COLUMN layout text NOT NULL DEFAULT 'time:41,worker:10,sequence:12/1ms@1288834974657',
  ADD COLUMN layout_fixed boolean NOT NULL DEFAULT false,
  ADD COLUMN next_worker integer NOT NULL DEFAULT 0;
