-- Workers of snowflake IDs, and the layout that they share. Times are Unix milliseconds, as in the IDs.

CREATE TABLE leaf_worker (
  worker_id INTEGER PRIMARY KEY CHECK (worker_id >= 0),
  owner TEXT,                    -- who holds it or held it last; NULL: free
  token TEXT,                    -- of the holder that may extend the window; NULL: it was given up
  window_end INTEGER NOT NULL,   -- outlives the owner: the next window starts here or later
  renewed_at INTEGER NOT NULL,   -- the last grant
  held_after INTEGER NOT NULL,    -- window_end when the holder took it: giving up leads no further back
  clock_offset INTEGER NOT NULL,  -- the clock of the holder less that of the store
  grant_before INTEGER           -- the latest renewed_at of all workers just before: tells when the clock went back
) STRICT;

-- Only a holder that gives up what it has not used lowers window_end.
CREATE TRIGGER leaf_worker_never_back BEFORE UPDATE ON leaf_worker
WHEN NEW.worker_id <> OLD.worker_id
     OR NEW.window_end < OLD.window_end
        AND NOT (OLD.token IS NOT NULL AND NEW.token IS NULL AND NEW.window_end >= OLD.held_after)
BEGIN
  SELECT RAISE(ABORT, 'the window of a worker may not go back');
END;

CREATE TRIGGER leaf_worker_never_gone BEFORE DELETE ON leaf_worker
BEGIN
  SELECT RAISE(ABORT, 'workers may not be deleted: free one with leafctl workers recycle');
END;

ALTER TABLE leaf_meta ADD COLUMN layout TEXT NOT NULL DEFAULT 'time:41,worker:10,sequence:12/1ms@1288834974657';
