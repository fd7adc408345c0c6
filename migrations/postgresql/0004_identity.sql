-- What tells one copy of a store from another. A server is known by its database and the table of tags too, so that a
-- copy of the database that takes its name, or a table that is put back alone, is another one. Two copies that know
-- nothing of each other leave out different amounts. And a store that has lost tags does not begin them again.

ALTER TABLE leaf.leaf_alloc
  ADD COLUMN left_out_from bigint,
  ADD COLUMN left_out_to bigint;
ALTER TABLE leaf.leaf_meta
  ADD COLUMN worker_table oid,
  ADD COLUMN tags bigint NOT NULL DEFAULT 0;

COMMENT ON COLUMN leaf.leaf_alloc.left_out_from IS
  'max_id as another server was noticed: it may have granted from here';
COMMENT ON COLUMN leaf.leaf_alloc.left_out_to IS 'max_id after the guard was left out then';
COMMENT ON COLUMN leaf.leaf_meta.worker_table IS 'leaf_worker_table() of the last lease: another one is from a copy';
COMMENT ON COLUMN leaf.leaf_meta.tags IS 'how many rows leaf_alloc has, which loses none';

-- Names that were given before this migration get the present form without being taken for another server's.
DROP TRIGGER leaf_alloc_other_server ON leaf.leaf_alloc;
DROP TRIGGER leaf_meta_other_server ON leaf.leaf_meta;

-- SYSTEM/TIMELINE/DATABASE.META.ALLOC, where the last three are OIDs. The caller that knows the OID of leaf_alloc, as
-- each update of a tag does, gets the name at half the price. The database's OID is cheapest in a file's name.
DO $server$
DECLARE
  name text := 'concat((pg_control_system()).system_identifier, ''/'','
    ' (''x'' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8))::bit(32)::integer, ''/'','
    ' split_part(pg_relation_filepath($1), ''/'','
    ' CASE WHEN starts_with(pg_relation_filepath($1), ''base/'') THEN 2 ELSE 4 END),'
    ' ''.'', $1, ''.'', %s)';
  -- Found by name, since whatever refers to a table keeps a restore from dropping it.
  alloc text := 'to_regclass(left($1::regclass::text, -length(''leaf_meta'')) || ''leaf_alloc'')::oid';
  home text := (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = 'leaf.leaf_meta'::regclass);
  head text := 'STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS';
  before text := leaf.leaf_server('leaf.leaf_meta'::regclass::oid);
  here text;
BEGIN
  BEGIN
    EXECUTE 'SELECT ' || format(name, '$1') USING 0::oid;
  EXCEPTION WHEN undefined_function OR insufficient_privilege THEN
    name := 'NULL::text';
  END;
  EXECUTE format('CREATE FUNCTION %s.leaf_server(meta oid, alloc oid) RETURNS text LANGUAGE plpgsql %s %L', home, head,
                 'BEGIN RETURN ' || format(name, '$2') || '; END');
  EXECUTE format('CREATE OR REPLACE FUNCTION %s.leaf_server(meta oid) RETURNS text LANGUAGE plpgsql %s %L', home, head,
                 'BEGIN RETURN ' || format(name, alloc) || '; END');

  EXECUTE format('SELECT %s.leaf_server($1)', home) INTO here USING 'leaf.leaf_meta'::regclass::oid;
  UPDATE leaf.leaf_alloc SET granted_by = here WHERE granted_by IS NOT DISTINCT FROM before;
  UPDATE leaf.leaf_meta SET granted_by = here WHERE granted_by IS NOT DISTINCT FROM before;
  -- Of an earlier timeline: the guard still counts them.
  UPDATE leaf.leaf_alloc
  SET granted_by = concat_ws('/', split_part(before, '/', 1), split_part(granted_by, '/', 2), split_part(here, '/', 3))
  WHERE split_part(granted_by, '/', 1) = split_part(before, '/', 1)
    AND split_part(granted_by, '/', 3) = split_part(before, '/', 3);
END
$server$;

-- The OID of leaf_worker; NULL where it lost its rows, as unlogged tables do in a crash: the first fixes the layout.
CREATE FUNCTION leaf.leaf_worker_table(meta oid) RETURNS oid LANGUAGE plpgsql STABLE
  SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  home text := left(meta::regclass::text, -length('leaf_meta'));
  found oid;
BEGIN
  EXECUTE format('SELECT %2$L::regclass FROM %1$sleaf_meta'
                 ' WHERE NOT layout_fixed OR EXISTS (SELECT FROM %1$sleaf_worker)', home, home || 'leaf_worker')
  INTO found;
  RETURN found;
END
$body$;
UPDATE leaf.leaf_meta
SET worker_table = leaf.leaf_worker_table('leaf.leaf_meta'::regclass::oid),
  tags = (SELECT count(*) FROM leaf.leaf_alloc);

GRANT EXECUTE ON FUNCTION leaf.leaf_server(oid, oid), leaf.leaf_worker_table(oid) TO PUBLIC;

-- The guard is the steps, and a share by chance beyond them. Of two copies of one state, as two standbys that are
-- promoted one after the other, or a dump that is read twice, neither can know of the other. Where each of them grants
-- n IDs of a tag they meet with a probability of at most 2n / share: 1 in 200 for 2,500 IDs, since the share is drawn
-- from eight times the steps, and from 2^20 IDs at least. Where a limit is near it is from an eighth of what is left.
CREATE OR REPLACE FUNCTION leaf.leaf_alloc_guard() RETURNS trigger LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  room numeric := greatest(coalesce(NEW.id_limit, 9223372036854775806) + 1::numeric - NEW.max_id, 0);
  here text;
  guard numeric;
  share numeric := 0;
  servers integer := 1;
  random text := gen_random_uuid();
BEGIN
  EXECUTE format('SELECT guard_steps, %1$I.leaf_server($1) FROM %1$I.leaf_meta', TG_TABLE_SCHEMA) INTO guard, here
  USING format('%I.leaf_meta', TG_TABLE_SCHEMA)::regclass::oid;
  guard := guard * greatest(NEW.step, NEW.last_grant, OLD.last_grant, 1);
  IF guard > 0 THEN
    share := least(greatest(8 * guard, 1048576), div(room, 8));
  END IF;
  -- Each server in between may have left out as much, share included, and lost that too.
  IF (split_part(OLD.granted_by, '/', 1), split_part(OLD.granted_by, '/', 3))
     = (split_part(here, '/', 1), split_part(here, '/', 3))
  THEN
    servers := greatest(split_part(here, '/', 2)::integer - split_part(OLD.granted_by, '/', 2)::integer, 1);
  END IF;
  guard := servers * guard + (servers - 1) * share;
  -- A tag that is removed needs no room: nothing was granted past its limit.
  IF NEW.removed_at IS NULL AND guard > room THEN
    RAISE EXCEPTION 'tag ''%'' was last granted by another server, and the guard of % IDs goes past its limit',
      OLD.biz_tag, guard
      USING ERRCODE = 'LF001', HINT = 'raise its limit; or, if that server lost no commit, say so with'
        ' ''leafctl failover settle --no-commits-lost''';
  END IF;
  -- 60 bits of the system's generator. That of random() may begin alike in two servers.
  share := ('x' || left(random, 8) || substr(random, 10, 4) || right(random, 3))::bit(60)::bigint % (share + 1);
  guard := least(guard + share, room);
  NEW.left_out_from := OLD.max_id;
  NEW.left_out_to := OLD.max_id + guard;
  NEW.max_id := NEW.max_id + guard;
  NEW.granted_by := here;
  RETURN NEW;
END
$body$;

CREATE TRIGGER leaf_alloc_other_server BEFORE UPDATE ON leaf.leaf_alloc
  FOR EACH ROW WHEN (OLD.granted_by IS DISTINCT FROM
                     leaf.leaf_server('leaf.leaf_meta'::regclass::oid, 'leaf.leaf_alloc'::regclass::oid))
  EXECUTE FUNCTION leaf.leaf_alloc_guard();

-- As in 0003, but where no worker was ever leased there is no longest window, and 20 minutes do.
CREATE OR REPLACE FUNCTION leaf.leaf_meta_guard() RETURNS trigger LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  longest numeric;
BEGIN
  EXECUTE format('SELECT %1$I.leaf_server($1), %1$I.leaf_worker_table($1)', TG_TABLE_SCHEMA)
  INTO NEW.granted_by, NEW.worker_table USING TG_RELID;
  -- The first lease after its rows were lost: that was waited for then.
  IF OLD.worker_table IS NULL AND OLD.granted_by IS NOT DISTINCT FROM NEW.granted_by THEN
    RETURN NEW;
  END IF;
  EXECUTE format('SELECT coalesce(max(window_end::numeric - renewed_at), 0) FROM %I.leaf_worker', TG_TABLE_SCHEMA)
  INTO longest;
  NEW.leases_from := extract(epoch FROM clock_timestamp()) * 1000
    + greatest(1200000, least(longest * 1.5, 2 * 86400000));
  RETURN NEW;
END
$body$;

CREATE TRIGGER leaf_meta_other_server BEFORE UPDATE ON leaf.leaf_meta
  FOR EACH ROW WHEN (OLD.granted_by IS DISTINCT FROM leaf.leaf_server('leaf.leaf_meta'::regclass::oid)
                     OR OLD.worker_table IS DISTINCT FROM leaf.leaf_worker_table('leaf.leaf_meta'::regclass::oid))
  EXECUTE FUNCTION leaf.leaf_meta_guard();

-- Refuses what a crash of the server would undo: each change by administration asks for it, as a grant asks itself.
CREATE FUNCTION leaf.leaf_require_durable(changed oid) RETURNS boolean LANGUAGE plpgsql
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

-- Refuses a new tag in a store that has lost some, unless it is said where that tag begins.
CREATE FUNCTION leaf.leaf_require_whole(meta oid) RETURNS boolean LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  home text := left(meta::regclass::text, -length('leaf_meta'));
  known bigint;
  found bigint;
BEGIN
  EXECUTE format('SELECT tags, (SELECT count(*) FROM %1$sleaf_alloc) FROM %1$sleaf_meta', home) INTO known, found;
  IF found < known THEN
    RAISE EXCEPTION 'table leaf_alloc has lost % of its % rows: this tag may have been one of them', known - found,
      known
      USING ERRCODE = 'LF003', HINT = 'find out the highest ID of the tag that any host has drawn or buffered, and'
        ' add it with --start and a higher one';
  END IF;
  RETURN true;
END
$body$;

GRANT EXECUTE ON FUNCTION leaf.leaf_require_durable(oid), leaf.leaf_require_whole(oid) TO PUBLIC;

CREATE FUNCTION leaf.leaf_alloc_count() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  -- Whoever adds tags at the same time queues here, and then counts those too.
  EXECUTE format('SELECT FROM %I.leaf_meta FOR UPDATE', TG_TABLE_SCHEMA);
  EXECUTE format('UPDATE %1$I.leaf_meta SET tags = counted.tags'
                 ' FROM (SELECT count(*) AS tags FROM %1$I.leaf_alloc) AS counted WHERE leaf_meta.tags < counted.tags',
                 TG_TABLE_SCHEMA);
  RETURN NULL;
EXCEPTION WHEN insufficient_privilege THEN
  RETURN NULL;  -- who may write Leaf's own table alone adds a tag that the next one counts
END
$body$;

CREATE TRIGGER leaf_alloc_counted AFTER INSERT ON leaf.leaf_alloc
  FOR EACH STATEMENT EXECUTE FUNCTION leaf.leaf_alloc_count();

-- Rows that a backup puts back into the tables of now know less than was granted since, and have the same server. A
-- row that was made by adding a tag, or by a lease, has the time of its transaction, or a later one.
CREATE FUNCTION leaf.leaf_alloc_put_back() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  NEW.granted_by := NULL;
  RETURN NEW;
END
$body$;
CREATE TRIGGER leaf_alloc_put_back BEFORE INSERT ON leaf.leaf_alloc FOR EACH ROW
  WHEN (NEW.update_time IS DISTINCT FROM now()) EXECUTE FUNCTION leaf.leaf_alloc_put_back();

CREATE FUNCTION leaf.leaf_worker_put_back() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  EXECUTE format('UPDATE %I.leaf_meta SET worker_table = 0', TG_TABLE_SCHEMA);
  RETURN NEW;
END
$body$;
CREATE TRIGGER leaf_worker_put_back BEFORE INSERT ON leaf.leaf_worker FOR EACH ROW
  WHEN (NEW.renewed_at < floor(extract(epoch FROM now()) * 1000)) EXECUTE FUNCTION leaf.leaf_worker_put_back();

CREATE FUNCTION leaf.leaf_meta_put_back() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  NEW.worker_table := 0;
  RETURN NEW;
END
$body$;
CREATE TRIGGER leaf_meta_put_back BEFORE INSERT ON leaf.leaf_meta
  FOR EACH ROW EXECUTE FUNCTION leaf.leaf_meta_put_back();
