-- A server that takes the place of another, after a failover or a restore, may lack its last commits. So tags and
-- workers remember which server granted last, and where it is another one leave out what may have been granted.

-- The functions look where the tables are, whatever the search path of those who call them.
DO $path$
BEGIN
  PERFORM set_config('search_path', relnamespace::regnamespace || ', pg_temp', true)
  FROM pg_class WHERE oid = 'leaf_meta'::regclass;
END
$path$;

-- Names the server and its history: a promoted standby has another timeline, a restored dump lies in another cluster.
-- NULL where the database does not tell; then nothing is noticed.
DO $server$
DECLARE
  body text := 'SELECT system_identifier || ''/'' ||'
    ' (''x'' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer FROM pg_control_system()';
BEGIN
  BEGIN
    EXECUTE body;
  EXCEPTION WHEN undefined_function OR insufficient_privilege THEN
    body := 'SELECT NULL::text';
  END;
  EXECUTE format('CREATE FUNCTION leaf_server() RETURNS text LANGUAGE sql STABLE SECURITY DEFINER'
                 ' SET search_path FROM CURRENT AS %L', body);
END
$server$;

ALTER TABLE leaf_alloc ADD COLUMN granted_by text DEFAULT leaf_server();
ALTER TABLE leaf_meta
  ADD COLUMN granted_by text DEFAULT leaf_server(),
  ADD COLUMN guard_steps integer NOT NULL DEFAULT 100 CHECK (guard_steps >= 0),
  ADD COLUMN leases_from bigint NOT NULL DEFAULT 0;

COMMENT ON COLUMN leaf_alloc.granted_by IS 'the server of the last change, as leaf_server() names it';
COMMENT ON COLUMN leaf_meta.granted_by IS 'the server that leases workers, as leaf_server() names it';
COMMENT ON COLUMN leaf_meta.guard_steps IS 'how many steps a tag leaves out when the server is another one';
COMMENT ON COLUMN leaf_meta.leases_from IS 'Unix milliseconds: no worker is leased for a time before';

CREATE FUNCTION leaf_alloc_guard() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $body$
DECLARE
  guard numeric := (SELECT guard_steps FROM leaf_meta)::numeric
    * greatest(NEW.step, NEW.last_grant, OLD.last_grant, 1);
BEGIN
  IF NEW.max_id + guard - 1 > coalesce(NEW.id_limit, 9223372036854775806) THEN
    RAISE EXCEPTION 'tag ''%'' was last granted by another server, and the guard of % IDs goes past its limit',
      OLD.biz_tag, guard
      USING ERRCODE = 'LF001', HINT = 'raise its limit; or, if that server lost no commit, go without the guard for'
        ' now with ''leafctl init-db --guard-steps 0''';
  END IF;
  NEW.max_id := NEW.max_id + guard;
  NEW.granted_by := leaf_server();
  RETURN NEW;
END
$body$;

-- A trigger, so that whatever changes the row leaves out the same: Leaf's own servers too.
CREATE TRIGGER leaf_alloc_guard BEFORE UPDATE ON leaf_alloc
  FOR EACH ROW WHEN (OLD.granted_by IS DISTINCT FROM leaf_server()) EXECUTE FUNCTION leaf_alloc_guard();

-- Workers are leased anew when each window is over that a lost commit may have leased. Each runtime role may call it.
CREATE FUNCTION leaf_leases_from() RETURNS bigint LANGUAGE plpgsql SECURITY DEFINER
  SET search_path FROM CURRENT AS $body$
BEGIN
  UPDATE leaf_meta SET granted_by = leaf_server(),
    leases_from = (extract(epoch FROM clock_timestamp()) * 1000)::bigint
      + greatest(600000, (SELECT max(window_end - renewed_at) FROM leaf_worker))
  WHERE granted_by IS DISTINCT FROM leaf_server();
  RETURN (SELECT leases_from FROM leaf_meta);
END
$body$;

COMMENT ON FUNCTION leaf_leases_from() IS 'notices another server; returns from when on workers are leased';
