-- A server that takes the place of another, after a failover or a restore, may lack its last commits. So tags and
-- workers remember which server granted last, and where it is another one leave out what may have been granted.

-- Names the server, its history and the tables: a promoted standby has another timeline, a restored dump lies in
-- another cluster or in tables made anew. NULL where the database does not tell; then nothing is noticed.
DO $server$
DECLARE
  home text := (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = 'leaf.leaf_meta'::regclass);
  name text := '(pg_control_system()).system_identifier::text || ''/'' ||'
    ' (''x'' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer::text || ''/'' || $1::text';
BEGIN
  BEGIN
    EXECUTE 'SELECT ' || name USING 0::oid;
  EXCEPTION WHEN undefined_function OR insufficient_privilege THEN
    name := 'NULL::text';
  END;
  -- In plpgsql, which plans it once in a session: as a function of SQL it took a third of a grant.
  EXECUTE format('CREATE FUNCTION %s.leaf_server(meta oid) RETURNS text LANGUAGE plpgsql STABLE SECURITY DEFINER'
                 ' SET search_path = pg_catalog, pg_temp AS %L', home, 'BEGIN RETURN ' || name || '; END');
END
$server$;

ALTER TABLE leaf.leaf_meta
  ADD COLUMN granted_by text,
  ADD COLUMN guard_steps integer NOT NULL DEFAULT 100 CHECK (guard_steps >= 0),
  ADD COLUMN leases_from bigint NOT NULL DEFAULT 0;
UPDATE leaf.leaf_meta SET granted_by = leaf.leaf_server('leaf.leaf_meta'::regclass::oid);
ALTER TABLE leaf.leaf_alloc ADD COLUMN granted_by text DEFAULT leaf.leaf_server('leaf.leaf_meta'::regclass::oid);

COMMENT ON COLUMN leaf.leaf_alloc.granted_by IS 'the server of the last change, as leaf_server() names it';
COMMENT ON COLUMN leaf.leaf_meta.granted_by IS 'the server that leases workers, as leaf_server() names it';
COMMENT ON COLUMN leaf.leaf_meta.guard_steps IS 'how many steps a tag leaves out when the server is another one';
COMMENT ON COLUMN leaf.leaf_meta.leases_from IS 'Unix milliseconds: no worker is leased for a time before';

-- Whoever may write a tag needs these: older runtime roles, and Leaf's own servers, which know leaf_alloc alone.
GRANT EXECUTE ON FUNCTION leaf.leaf_server(oid) TO PUBLIC;
GRANT SELECT (guard_steps) ON leaf.leaf_meta TO PUBLIC;

CREATE FUNCTION leaf.leaf_alloc_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  past_limit numeric := coalesce(NEW.id_limit, 9223372036854775806) + 1::numeric;
  here text;
  guard numeric;
BEGIN
  EXECUTE format('SELECT guard_steps, %1$I.leaf_server($1) FROM %1$I.leaf_meta', TG_TABLE_SCHEMA) INTO guard, here
  USING format('%I.leaf_meta', TG_TABLE_SCHEMA)::regclass::oid;
  guard := guard * greatest(NEW.step, NEW.last_grant, OLD.last_grant, 1);
  -- Each server in between may have left out as much, and lost that too.
  IF (split_part(OLD.granted_by, '/', 1), split_part(OLD.granted_by, '/', 3))
     = (split_part(here, '/', 1), split_part(here, '/', 3))
  THEN
    guard := guard * greatest(split_part(here, '/', 2)::integer - split_part(OLD.granted_by, '/', 2)::integer, 1);
  END IF;
  -- A tag that is removed needs no room: nothing was granted past its limit.
  IF NEW.removed_at IS NOT NULL THEN
    guard := least(guard, greatest(past_limit - NEW.max_id, 0));
  ELSIF NEW.max_id + guard > past_limit THEN
    RAISE EXCEPTION 'tag ''%'' was last granted by another server, and the guard of % IDs goes past its limit',
      OLD.biz_tag, guard
      USING ERRCODE = 'LF001', HINT = 'raise its limit; or, if that server lost no commit, go without the guard for'
        ' now with ''leafctl init-db --guard-steps 0''';
  END IF;
  NEW.max_id := NEW.max_id + guard;
  NEW.granted_by := here;
  RETURN NEW;
END
$body$;

-- A trigger, so that whatever changes the row leaves out the same: Leaf's own servers too. By its name it comes after
-- leaf_alloc_never_back, so that no counter goes back by as much as the guard adds.
CREATE TRIGGER leaf_alloc_other_server BEFORE UPDATE ON leaf.leaf_alloc
  FOR EACH ROW WHEN (OLD.granted_by IS DISTINCT FROM leaf.leaf_server('leaf.leaf_meta'::regclass::oid))
  EXECUTE FUNCTION leaf.leaf_alloc_guard();

-- Workers are leased anew when each window is over that a lost commit may have leased. A renewal in advance makes
-- half as much again of a window, and the first long one may be lost; no window is longer than a day.
CREATE FUNCTION leaf.leaf_meta_guard() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  longest numeric;
BEGIN
  EXECUTE format('SELECT max(window_end::numeric - renewed_at) FROM %I.leaf_worker', TG_TABLE_SCHEMA) INTO longest;
  EXECUTE format('SELECT %I.leaf_server($1)', TG_TABLE_SCHEMA) INTO NEW.granted_by USING TG_RELID;
  NEW.leases_from := extract(epoch FROM clock_timestamp()) * 1000
    + greatest(1200000, least(longest * 1.5, 2 * 86400000));
  RETURN NEW;
END
$body$;

CREATE TRIGGER leaf_meta_other_server BEFORE UPDATE ON leaf.leaf_meta
  FOR EACH ROW WHEN (OLD.granted_by IS DISTINCT FROM leaf.leaf_server('leaf.leaf_meta'::regclass::oid))
  EXECUTE FUNCTION leaf.leaf_meta_guard();
