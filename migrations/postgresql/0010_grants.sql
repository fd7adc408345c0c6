-- minimum reader: 6
-- A grant costs two thirds of what it did. PostgreSQL reads the conditions of triggers anew for each statement, and to name
-- the server took as long as to change the row. So one trigger without a condition does what two did, and the server is
-- named where it may be another one: when it has started anew or has another timeline, when the table lies in another file
-- or schema, when somebody else has written granted_by, and when a failover is settled.

ALTER TABLE leaf.leaf_alloc
  ADD COLUMN checked_since timestamptz,
  ADD COLUMN checked_as text;

COMMENT ON COLUMN leaf.leaf_alloc.checked_since IS 'when the server had started that granted_by was last compared with';
COMMENT ON COLUMN leaf.leaf_alloc.checked_as IS 'the timeline, the file and the schema of the table then, and granted_by';

DROP TRIGGER IF EXISTS leaf_alloc_never_back ON leaf.leaf_alloc;
DROP TRIGGER IF EXISTS leaf_alloc_other_server ON leaf.leaf_alloc;

CREATE OR REPLACE FUNCTION leaf.leaf_alloc_refuse() RETURNS trigger LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $body$
BEGIN
  RAISE EXCEPTION 'rows of leaf_alloc may not be deleted'
    USING ERRCODE = 'check_violation', HINT = 'remove a tag with leafctl tags remove';
END
$body$;

-- What every change of a tag goes through, whoever makes it: Leaf's own servers too. The counter never goes back, and
-- leaves out the guard of 0004 where another server granted before.
CREATE OR REPLACE FUNCTION leaf.leaf_alloc_guard() RETURNS trigger LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  place text;
BEGIN
  IF NEW.max_id < OLD.max_id OR NEW.biz_tag <> OLD.biz_tag OR NOT isfinite(NEW.update_time)
     OR NEW.last_grant <> OLD.last_grant AND NEW.incarnation = OLD.incarnation
        AND (NEW.last_grant < 1 OR NEW.last_grant <> NEW.max_id - OLD.max_id)
  THEN
    IF NEW.biz_tag <> OLD.biz_tag THEN
      RAISE EXCEPTION 'tag ''%'' may not be renamed: its IDs could come again under the old name', OLD.biz_tag
        USING ERRCODE = 'check_violation';
    ELSIF NEW.max_id < OLD.max_id THEN
      RAISE EXCEPTION 'tag ''%'': max_id may not go back from % to %', OLD.biz_tag, OLD.max_id, NEW.max_id
        USING ERRCODE = 'check_violation';
    END IF;
    RAISE EXCEPTION 'tag ''%'': last_grant has to be what max_id goes on by, and update_time a time', OLD.biz_tag
      USING ERRCODE = 'check_violation';
  END IF;

  place := concat(left(pg_walfile_name(pg_current_wal_insert_lsn()), 8), ' ', pg_relation_filepath(TG_RELID), ' ',
                  TG_TABLE_SCHEMA, ' ');
  IF OLD.checked_since = pg_postmaster_start_time() AND OLD.checked_as = concat(place, OLD.granted_by) THEN
    RETURN NEW;
  END IF;

  DECLARE
    -- The limit of a removed tag is over: the server before may have had the tag added again with a higher one.
    room numeric := greatest(CASE WHEN NEW.removed_at IS NULL THEN coalesce(NEW.id_limit, 9223372036854775806)
                                  ELSE 9223372036854775806 END + 1::numeric - NEW.max_id, 0);
    here text;
    guard numeric;
    share numeric := 0;
    servers integer := 1;
    random text := gen_random_uuid();
  BEGIN
    EXECUTE format('SELECT guard_steps, %1$I.leaf_server($1) FROM %1$I.leaf_meta', TG_TABLE_SCHEMA) INTO guard, here
    USING format('%I.leaf_meta', TG_TABLE_SCHEMA)::regclass::oid;
    NEW.checked_since := pg_postmaster_start_time();
    NEW.checked_as := concat(place, here);
    IF OLD.granted_by IS NOT DISTINCT FROM here THEN
      RETURN NEW;
    END IF;
    guard := guard * greatest(NEW.step, OLD.step, NEW.last_grant, OLD.last_grant, 1);
    IF guard > 0 THEN
      share := greatest(8 * guard, 1048576);
    END IF;
    -- Each server in between may have left out as much, share included, and lost that too; perhaps with another limit.
    -- A restore beside the tables of one of them comes on top.
    IF split_part(OLD.granted_by, '/', 1) = split_part(here, '/', 1) THEN
      servers := greatest(split_part(here, '/', 2)::integer - split_part(OLD.granted_by, '/', 2)::integer
                          + (split_part(OLD.granted_by, '/', 3) <> split_part(here, '/', 3))::integer, 1);
    ELSIF OLD.granted_by IS NOT NULL THEN
      -- On which timeline of this system it was restored is not known: one that granted since then may be lost.
      servers := least(split_part(here, '/', 2)::integer, 2);
    END IF;
    guard := servers * guard + (servers - 1) * share;
    -- A tag that is removed is always taken over: nothing is granted past the highest ID.
    IF NEW.removed_at IS NULL AND guard > room THEN
      RAISE EXCEPTION 'tag ''%'' was last granted by another server, and the guard of % IDs goes past its limit',
        OLD.biz_tag, guard
        USING ERRCODE = 'LF001', HINT = 'raise its limit; or, if that server lost no commit, say so with'
          ' ''leafctl failover settle --no-commits-lost''';
    END IF;
    -- 60 bits of the system's generator. That of random() may begin alike in two servers.
    share := ('x' || left(random, 8) || substr(random, 10, 4) || right(random, 3))::bit(60)::bigint
             % (least(share, div(room, 8)) + 1);
    guard := least(guard + share, room);
    NEW.left_out_from := OLD.max_id;
    NEW.left_out_to := OLD.max_id + guard;
    NEW.max_id := NEW.max_id + guard;
    NEW.granted_by := here;
    RETURN NEW;
  END;
END
$body$;
CREATE TRIGGER leaf_alloc_guarded BEFORE UPDATE ON leaf.leaf_alloc
  FOR EACH ROW EXECUTE FUNCTION leaf.leaf_alloc_guard();

-- Ends what waits since `meant`, as leaf_server() names it, took the place of another server. As in 0006, but for what was
-- compared before, and for what an operator says: `nothing_lost` is said of the server before this one alone. It is the one
-- that the rows name which are one step away: a timeline, or a restore beside the tables, or one of another system where
-- this one has had no timeline before. Where they do not agree on it, nobody knows who that is, and all leave out the
-- guard. `by_any` says it of all servers that the rows name.
DROP FUNCTION IF EXISTS leaf.leaf_settle(oid, text, boolean);
CREATE OR REPLACE FUNCTION leaf.leaf_settle(meta oid, meant text, nothing_lost boolean, by_any boolean DEFAULT false)
RETURNS TABLE (tag text, room boolean, left_out_from bigint, left_out_to bigint) LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp SET quote_all_identifiers = off AS $body$
DECLARE
  home text := left(meta::regclass::text, -length('leaf_meta'));
  here text;
  before text;
  steps integer;
  guard integer;
  is_whole boolean;
  is_noticed boolean;
BEGIN
  EXECUTE format('SELECT %1$sleaf_require_durable($1), %1$sleaf_require_durable($2)', home)
  USING meta, (home || 'leaf_alloc')::regclass::oid;
  -- Any change of the row notices another server; whoever else settles waits for it.
  EXECUTE format('UPDATE %1$sleaf_meta SET layout_fixed = layout_fixed RETURNING guard_steps, %1$sleaf_server($1)', home)
  INTO steps, here USING meta;
  IF here IS DISTINCT FROM meant THEN
    RAISE EXCEPTION 'another server has taken over meanwhile'
      USING ERRCODE = 'LF006', HINT = 'look again with ''leafctl failover show'' before you decide';
  END IF;
  EXECUTE format($before$
    WITH other AS (
      SELECT name, split_part(name, '/', 1) AS system, substring(name FROM '/(\d{1,9})/')::integer AS timeline,
        (split_part(name, '/', 3) <> split_part($1, '/', 3))::integer AS is_beside
      FROM (SELECT granted_by AS name FROM %1$sleaf_alloc UNION SELECT granted_before FROM %1$sleaf_meta) AS named
      WHERE name <> $1
    ), own AS (SELECT FROM other WHERE system = split_part($1, '/', 1)
    ), last AS (
      SELECT name FROM other WHERE system = split_part($1, '/', 1)
        AND split_part($1, '/', 2)::integer - timeline + is_beside = 1
      UNION ALL SELECT name FROM other WHERE split_part($1, '/', 2) = '1' AND NOT EXISTS (SELECT FROM own)
        AND (SELECT count(DISTINCT system) FROM other) = 1
        AND timeline IS NOT DISTINCT FROM (SELECT max(timeline) FROM other)
    ) SELECT CASE WHEN count(*) = 1 THEN min(name) END FROM last$before$, home)
  INTO before USING here;
  IF nothing_lost THEN
    EXECUTE format('UPDATE %sleaf_meta SET leases_from = CASE WHEN $1 THEN 0'
                   ' WHEN granted_before = $2 THEN leases_before ELSE leases_from END', home)
    USING by_any, before;
  END IF;
  guard := steps;
  FOR tag, is_whole IN EXECUTE
    format('SELECT biz_tag, $2 AND ($3 OR granted_by IS NOT DISTINCT FROM $4 AND $4 IS NOT NULL) FROM %sleaf_alloc'
           ' WHERE granted_by IS DISTINCT FROM $1 ORDER BY 2, 1', home)
    USING here, nothing_lost, by_any, before
  LOOP
    IF is_whole AND guard > 0 THEN
      -- Nobody else sees the guard of none.
      guard := 0;
      EXECUTE format('UPDATE %sleaf_meta SET guard_steps = 0', home);
    END IF;
    BEGIN
      FOR attempt IN 1 .. 2 LOOP
        -- Any change of the row leaves out the guard.
        EXECUTE format('UPDATE %sleaf_alloc SET granted_by = granted_by WHERE biz_tag = $1'
                       ' AND granted_by IS DISTINCT FROM $2'
                       ' RETURNING true, granted_by IS NOT DISTINCT FROM $2, left_out_from, left_out_to', home)
        INTO room, is_noticed, left_out_from, left_out_to USING tag, here;
        EXIT WHEN room IS NULL OR is_noticed;
        -- But where the deployment's table was put back alone, since the trigger does not look at that.
        EXECUTE format('UPDATE %sleaf_alloc SET checked_since = NULL WHERE biz_tag = $1', home) USING tag;
      END LOOP;
    EXCEPTION WHEN SQLSTATE 'LF001' THEN
      SELECT false, true, NULL, NULL INTO room, is_noticed, left_out_from, left_out_to;
    END;
    CONTINUE WHEN room IS NULL;  -- somebody drew meanwhile
    IF NOT is_noticed THEN
      RAISE EXCEPTION 'table leaf_alloc was recreated without its triggers: IDs that were granted may come again'
        USING ERRCODE = 'LF002', HINT = 'put back the one that was there, or the whole store from a backup';
    END IF;
    RETURN NEXT;
  END LOOP;
  IF guard <> steps THEN
    EXECUTE format('UPDATE %sleaf_meta SET guard_steps = $1', home) USING steps;
  END IF;
END
$body$;
REVOKE EXECUTE ON FUNCTION leaf.leaf_settle(oid, text, boolean, boolean) FROM PUBLIC;

-- An import changes thousands of tags at once, and to look for the first event to go takes as long as all else about one.
DROP TRIGGER IF EXISTS leaf_event_kept ON leaf.leaf_event;
CREATE TRIGGER leaf_event_kept AFTER INSERT ON leaf.leaf_event FOR EACH ROW WHEN (NEW.event_id % 256 = 0)
  EXECUTE FUNCTION leaf.leaf_event_kept();
COMMENT ON TABLE leaf.leaf_event IS
  'at least the last 10,000 changes of tags, and the last 10,000 workers that were freed';
