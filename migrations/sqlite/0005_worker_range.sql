-- minimum reader: 3
-- Which workers this store leases, so that stores in two regions have none in common. Triggers keep within the range, so
-- that earlier programs do too: they lose what lies outside, as if it were recycled, and are refused what is new there.

ALTER TABLE leaf_meta ADD COLUMN first_worker INTEGER NOT NULL DEFAULT 0 CHECK (first_worker >= 0);
ALTER TABLE leaf_meta ADD COLUMN last_worker INTEGER CHECK (last_worker >= first_worker);  -- NULL: all of the layout

CREATE TRIGGER leaf_worker_new_in_range BEFORE INSERT ON leaf_worker
WHEN NOT EXISTS (SELECT 1 FROM leaf_meta WHERE NEW.worker_id BETWEEN first_worker AND coalesce(last_worker, NEW.worker_id))
BEGIN
  SELECT RAISE(ABORT, 'this worker is not one of those that the store leases');
END;

CREATE TRIGGER leaf_worker_in_range BEFORE UPDATE ON leaf_worker
WHEN NEW.window_end > OLD.window_end
  AND NOT EXISTS (SELECT 1 FROM leaf_meta WHERE NEW.worker_id BETWEEN first_worker AND coalesce(last_worker, NEW.worker_id))
BEGIN
  SELECT RAISE(IGNORE);
END;

-- An import changes thousands of tags at once, and to look for the first event to go takes as long as all else about one.
DROP TRIGGER IF EXISTS leaf_event_kept;
CREATE TRIGGER leaf_event_kept AFTER INSERT ON leaf_event WHEN NEW.event_id % 256 = 0
BEGIN
  DELETE FROM leaf_event WHERE event = 'free' AND event_id <= (SELECT event_id
    FROM leaf_event WHERE event = 'free' ORDER BY event_id DESC LIMIT 1 OFFSET 10000);
  DELETE FROM leaf_event WHERE event <> 'free' AND event_id <= (SELECT event_id
    FROM leaf_event WHERE event <> 'free' ORDER BY event_id DESC LIMIT 1 OFFSET 10000);
END;
