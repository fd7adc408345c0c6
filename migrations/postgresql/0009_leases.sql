-- minimum reader: 6
-- What else a runtime role could write to make an ID come again, or to take workers that nobody uses.

-- It may put back a token that it has read. Then two hold the worker, and one knows nothing of the other's windows. But
-- who puts a token in moves held_after to where all windows before end. A holder renews from now on, or from the end of
-- its own windows; so it has to be past held_after, as all who take a worker are. Else no row is changed, which every
-- program takes for a worker that was recycled.
CREATE FUNCTION leaf.leaf_worker_not_renewed() RETURNS trigger LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  RETURN NULL;
END
$body$;
CREATE TRIGGER leaf_worker_held_before BEFORE UPDATE OF renewed_at ON leaf.leaf_worker FOR EACH ROW
  WHEN (NEW.token = OLD.token AND NEW.held_after = OLD.held_after
        AND NEW.renewed_at + least(NEW.clock_offset, 0) < NEW.held_after)
  EXECUTE FUNCTION leaf.leaf_worker_not_renewed();

-- The first that was never taken. A role that could count on without taking any has left out free ones.
ALTER TABLE leaf.leaf_meta DISABLE TRIGGER leaf_meta_never_back;
UPDATE leaf.leaf_meta SET next_worker =
  (SELECT min(id) FROM (SELECT first_worker AS id UNION ALL
                        SELECT worker_id::bigint + 1 FROM leaf.leaf_worker WHERE worker_id >= first_worker) AS after_one
   WHERE NOT EXISTS (SELECT FROM leaf.leaf_worker WHERE worker_id = id));
ALTER TABLE leaf.leaf_meta ENABLE TRIGGER leaf_meta_never_back;

CREATE FUNCTION leaf.leaf_meta_counted() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  is_taken boolean;
BEGIN
  EXECUTE format('SELECT EXISTS (SELECT FROM %I.leaf_worker WHERE worker_id = $1)', TG_TABLE_SCHEMA)
  INTO is_taken USING OLD.next_worker;
  IF NOT is_taken THEN
    RAISE EXCEPTION 'next_worker goes on only when worker % is taken', OLD.next_worker
      USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END
$body$;
-- At the end of the statement, which inserts the row too.
CREATE TRIGGER leaf_meta_counted AFTER UPDATE OF next_worker ON leaf.leaf_meta FOR EACH ROW
  WHEN (NEW.next_worker > OLD.next_worker AND NEW.first_worker = OLD.first_worker)
  EXECUTE FUNCTION leaf.leaf_meta_counted();

-- It may say that the layout is fixed, which is so only with a worker: without one it looks as if workers were lost.
CREATE FUNCTION leaf.leaf_meta_fixed() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  has_workers boolean;
BEGIN
  EXECUTE format('SELECT EXISTS (SELECT FROM %I.leaf_worker)', TG_TABLE_SCHEMA) INTO has_workers;
  IF NOT has_workers THEN
    RAISE EXCEPTION 'the layout is fixed only when a worker is taken' USING ERRCODE = 'check_violation';
  END IF;
  RETURN NULL;
END
$body$;
-- At the end of the statement, which inserts the row too.
CREATE TRIGGER leaf_meta_fixed AFTER UPDATE OF layout_fixed ON leaf.leaf_meta FOR EACH ROW
  WHEN (NEW.layout_fixed AND NOT OLD.layout_fixed)
  EXECUTE FUNCTION leaf.leaf_meta_fixed();

-- It may keep its own commits from waiting for the standby. A failover then loses them, and whoever settles it believes
-- that all waited. As in 0004, but for that.
CREATE OR REPLACE FUNCTION leaf.leaf_require_durable(changed oid) RETURNS boolean LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  IF coalesce(current_setting('synchronous_commit', true), '') = 'off'
     OR coalesce(current_setting('client_min_messages', true), '') = 'error'
  THEN
    RAISE EXCEPTION 'the store does not vouch for its commits: ''synchronous_commit'' is off, or'
      ' ''client_min_messages'' hides its warnings'
      USING ERRCODE = 'LF002',
        HINT = 'leave both at their defaults for this role and database, and out of PGOPTIONS';
  END IF;
  IF current_setting('synchronous_commit', true) = 'local'
     AND coalesce(current_setting('synchronous_standby_names', true), '') <> ''
  THEN
    RAISE EXCEPTION '''synchronous_commit'' is ''local'': commits do not wait for the standby, and a failover would lose them'
      USING ERRCODE = 'LF002',
        HINT = 'leave it at its default for this role and database, and out of PGOPTIONS';
  END IF;
  IF current_setting('session_replication_role') = 'replica' THEN
    RAISE EXCEPTION '''session_replication_role'' is ''replica'': the triggers that keep IDs from coming again do not run'
      USING ERRCODE = 'LF002',
        HINT = 'leave it at its default for this role and database, and out of PGOPTIONS';
  END IF;
  IF EXISTS (SELECT FROM pg_class WHERE oid = changed AND relpersistence <> 'p') THEN
    RAISE EXCEPTION 'table % is unlogged: a crash of the server would empty it', changed::regclass
      USING ERRCODE = 'LF002', HINT = format('run ''ALTER TABLE %s SET LOGGED''', changed::regclass);
  END IF;
  RETURN true;
END
$body$;

-- An operator who says that the server before this one lost no commit says nothing of those before that. So a wait that
-- this one found goes on.
ALTER TABLE leaf.leaf_meta
  ADD COLUMN granted_before text,
  ADD COLUMN leases_before bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN leaf.leaf_meta.granted_before IS 'granted_by until leases_from was last put off; NULL: unknown';
COMMENT ON COLUMN leaf.leaf_meta.leases_before IS 'leases_from until then';
-- What was found before is not known any more.
UPDATE leaf.leaf_meta SET leases_before = leases_from;

-- A new server's clock may be behind until somebody sets it right, and a wait that goes by it would be over before lost
-- windows are. So it begins no earlier than the newest lease that is known, and never ends earlier than one before. As in
-- 0004, but for that.
CREATE OR REPLACE FUNCTION leaf.leaf_meta_guard() RETURNS trigger LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  longest numeric;
  newest bigint;
BEGIN
  EXECUTE format('SELECT %1$I.leaf_server($1), %1$I.leaf_worker_table($1)', TG_TABLE_SCHEMA)
  INTO NEW.granted_by, NEW.worker_table USING TG_RELID;
  -- The first lease after its rows were lost: that was waited for then.
  IF OLD.worker_table IS NULL AND OLD.granted_by IS NOT DISTINCT FROM NEW.granted_by THEN
    RETURN NEW;
  END IF;
  EXECUTE format('SELECT coalesce(max(window_end::numeric - renewed_at), 0), coalesce(max(renewed_at), 0)'
                 ' FROM %I.leaf_worker', TG_TABLE_SCHEMA)
  INTO longest, newest;
  -- Nobody can say that nothing is missing where rows of workers were put back, or lost, in the tables of then.
  NEW.granted_before := CASE WHEN OLD.worker_table IS NOT DISTINCT FROM NEW.worker_table
                                  OR split_part(OLD.granted_by, '/', 3) <> split_part(NEW.granted_by, '/', 3)
                             THEN OLD.granted_by END;
  NEW.leases_before := OLD.leases_from;
  NEW.leases_from := greatest(OLD.leases_from, greatest(extract(epoch FROM clock_timestamp()) * 1000, newest)
    + greatest(1200000, least(longest * 1.5, 2 * 86400000)));
  RETURN NEW;
END
$body$;

-- A role that may not ask which server this is would notice no failover. So no store is made by it, and where the right is
-- taken away later, whatever asks is refused: all leases, and tags once the server may be another one. As in 0004, but for
-- that; where the database cannot tell at all, nothing is noticed.
DO $right$
DECLARE
  body text := $body$
BEGIN
  RETURN concat((pg_control_system()).system_identifier, '/',
    ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer, '/',
    split_part(pg_relation_filepath($1), '/', CASE WHEN starts_with(pg_relation_filepath($1), 'base/') THEN 2 ELSE 4 END),
    '.', $1, '.', @alloc@);
EXCEPTION WHEN insufficient_privilege THEN
  RAISE EXCEPTION 'role ''%'' may not ask which server this is: no failover would be noticed', current_user
    USING ERRCODE = 'LF009',
      HINT = format('as a superuser, run ''GRANT EXECUTE ON FUNCTION %s TO %I''',
                    (SELECT string_agg(asked::text, ', ') FROM unnest(ARRAY['pg_control_system()'::regprocedure,
                       'pg_walfile_name(pg_lsn)', 'pg_current_wal_insert_lsn()', 'pg_relation_filepath(regclass)']) AS asked
                     WHERE NOT has_function_privilege(asked, 'EXECUTE')), current_user);
END$body$;
  -- Found by name, since whatever refers to a table keeps a restore from dropping it.
  alloc text := $alloc$to_regclass(left($1::regclass::text, -length('leaf_meta')) || 'leaf_alloc')::oid$alloc$;
  home text := (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = 'leaf.leaf_meta'::regclass);
  head text := 'LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp'
    ' SET quote_all_identifiers = off';
BEGIN
  IF to_regprocedure('pg_control_system()') IS NULL THEN
    RETURN;
  END IF;
  EXECUTE format('CREATE OR REPLACE FUNCTION %s.leaf_server(meta oid, alloc oid) RETURNS text %s AS %L', home, head,
                 replace(body, '@alloc@', '$2'));
  EXECUTE format('CREATE OR REPLACE FUNCTION %s.leaf_server(meta oid) RETURNS text %s AS %L', home, head,
                 replace(body, '@alloc@', alloc));
  PERFORM leaf.leaf_server('leaf.leaf_meta'::regclass::oid);
END
$right$;

-- Where it is on, names are not written as these take them apart.
ALTER FUNCTION leaf.leaf_worker_table(oid) SET quote_all_identifiers = off;
ALTER FUNCTION leaf.leaf_require_whole(oid) SET quote_all_identifiers = off;
