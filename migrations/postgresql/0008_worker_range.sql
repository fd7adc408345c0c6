-- minimum reader: 6
-- Which workers this store leases, so that stores in two regions have none in common. Triggers keep within the range, so
-- that earlier programs do too: they lose what lies outside, as if it were recycled, and are refused what is new there.

ALTER TABLE leaf.leaf_meta
  ADD COLUMN first_worker integer NOT NULL DEFAULT 0,
  ADD COLUMN last_worker integer,
  ADD CONSTRAINT leaf_meta_workers CHECK (first_worker >= 0 AND last_worker >= first_worker);

COMMENT ON COLUMN leaf.leaf_meta.first_worker IS 'no worker below is leased';
COMMENT ON COLUMN leaf.leaf_meta.last_worker IS 'no worker above is leased; NULL: all of the layout are';

CREATE FUNCTION leaf.leaf_worker_in_range() RETURNS trigger LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  lowest integer;
  highest integer;
BEGIN
  -- It sees a range that was set while this waited for the table; what goes by a snapshot of before has to begin again.
  EXECUTE format('SELECT first_worker, last_worker FROM %I.leaf_meta %s', TG_TABLE_SCHEMA,
                 CASE WHEN current_setting('transaction_isolation') <> 'read committed' THEN 'FOR SHARE' END)
  INTO lowest, highest;
  IF NEW.worker_id BETWEEN lowest AND coalesce(highest, NEW.worker_id) THEN
    RETURN NEW;
  ELSIF TG_OP = 'UPDATE' THEN
    RETURN NULL;
  END IF;
  RAISE EXCEPTION 'worker % is not one of those that this store leases, from %', NEW.worker_id,
    concat_ws(' to ', lowest, highest)
    USING ERRCODE = 'LF007', HINT = 'take another one; ''leafctl init-db --workers'' tells a store which it leases';
END
$body$;

-- What a backup puts back grants nothing if it is over.
CREATE TRIGGER leaf_worker_new_in_range BEFORE INSERT ON leaf.leaf_worker FOR EACH ROW
  WHEN (NEW.renewed_at >= floor(extract(epoch FROM now()) * 1000)
        OR NEW.window_end > extract(epoch FROM clock_timestamp()) * 1000)
  EXECUTE FUNCTION leaf.leaf_worker_in_range();
CREATE TRIGGER leaf_worker_in_range BEFORE UPDATE ON leaf.leaf_worker FOR EACH ROW
  WHEN (NEW.window_end > OLD.window_end) EXECUTE FUNCTION leaf.leaf_worker_in_range();

CREATE FUNCTION leaf.leaf_meta_workers() RETURNS trigger LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  in_use text;
BEGIN
  IF TG_LEVEL = 'STATEMENT' THEN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
      RAISE EXCEPTION 'the range of workers may change only in a transaction that is READ COMMITTED'
        USING ERRCODE = 'LF007', HINT = 'set it with ''leafctl init-db --workers''';
    END IF;
    -- Who leases has ended before the look below, or sees the new range.
    EXECUTE format('LOCK TABLE %I.leaf_worker IN SHARE ROW EXCLUSIVE MODE', TG_TABLE_SCHEMA);
    RETURN NULL;
  END IF;
  EXECUTE format('SELECT string_agg(worker_id::text, '', '' ORDER BY worker_id) FROM %I.leaf_worker'
                 ' WHERE worker_id NOT BETWEEN $1 AND coalesce($2, worker_id)'
                 ' AND window_end > extract(epoch FROM clock_timestamp()) * 1000', TG_TABLE_SCHEMA)
  INTO in_use USING NEW.first_worker, NEW.last_worker;
  IF in_use IS NOT NULL THEN
    RAISE EXCEPTION 'workers outside of the range are leased: %', in_use
      USING ERRCODE = 'LF007', HINT = 'wait until their windows are over: see ''leafctl workers list''';
  END IF;
  -- leaf_meta_other_server comes before this trigger, and notices a server that took over meanwhile.
  IF NEW.leases_from > extract(epoch FROM clock_timestamp()) * 1000
     AND (NEW.first_worker > OLD.first_worker OR NEW.last_worker < coalesce(OLD.last_worker, 2147483647))
  THEN
    RAISE EXCEPTION 'after a failover or restore the store may lack leases of workers outside of the range'
      USING ERRCODE = 'LF007', HINT = 'wait until ''leafctl failover show'' says that workers are leased';
  END IF;
  -- The first that was never taken. By its name this trigger comes after leaf_meta_never_back, which lets it only go on.
  EXECUTE format('SELECT min(id) FROM (SELECT $1 AS id UNION ALL'
                 ' SELECT worker_id::bigint + 1 FROM %1$I.leaf_worker WHERE worker_id >= $1) AS after_one'
                 ' WHERE NOT EXISTS (SELECT FROM %1$I.leaf_worker WHERE worker_id = id)', TG_TABLE_SCHEMA)
  INTO NEW.next_worker USING NEW.first_worker;
  RETURN NEW;
END
$body$;

CREATE TRIGGER leaf_meta_workers_locked BEFORE UPDATE OF first_worker, last_worker ON leaf.leaf_meta
  FOR EACH STATEMENT EXECUTE FUNCTION leaf.leaf_meta_workers();
CREATE TRIGGER leaf_meta_workers_set BEFORE UPDATE OF first_worker, last_worker ON leaf.leaf_meta FOR EACH ROW
  WHEN ((NEW.first_worker, NEW.last_worker) IS DISTINCT FROM (OLD.first_worker, OLD.last_worker))
  EXECUTE FUNCTION leaf.leaf_meta_workers();
