-- minimum reader: 6
-- For whoever runs a store. Programs of several releases share it, each one that knows the minimum reader; and what
-- waits after a failover ends when an operator says so.

ALTER TABLE leaf.leaf_meta
  ADD COLUMN min_reader integer NOT NULL DEFAULT 0,
  ADD COLUMN min_release text;

COMMENT ON COLUMN leaf.leaf_meta.min_reader IS 'the schema version that a program has to know, of the same or an earlier number';
COMMENT ON COLUMN leaf.leaf_meta.min_release IS 'the release that raised min_reader: it and later ones know it';

-- Ends what waits since `meant`, as leaf_server() names it, took the place of another server: an operator looked at it
-- and decided. Tags leave out the guard now and not when they are drawn from; where nothing was lost they leave out
-- nothing, and workers are leased at once. Returns the tags that waited; with a room of false those that stay as they
-- are, since the guard goes past their limit.
CREATE FUNCTION leaf.leaf_settle(meta oid, meant text, nothing_lost boolean)
RETURNS TABLE (tag text, room boolean, left_out_from bigint, left_out_to bigint) LANGUAGE plpgsql
SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  home text := left(meta::regclass::text, -length('leaf_meta'));
  here text;
  steps integer;
  is_noticed boolean;
BEGIN
  EXECUTE format('SELECT %1$sleaf_require_durable($1), %1$sleaf_require_durable($2)', home)
  USING meta, (home || 'leaf_alloc')::regclass::oid;
  -- Any change of the row notices another server; whoever else settles waits for it.
  EXECUTE format('UPDATE %1$sleaf_meta SET layout_fixed = layout_fixed RETURNING guard_steps, %1$sleaf_server($1)', home)
  INTO steps, here USING meta;
  IF here IS DISTINCT FROM meant THEN
    RAISE EXCEPTION 'another server has taken over meanwhile'
      USING ERRCODE = 'LF006', HINT = 'look again with ''leafctl failover show'', and decide anew';
  END IF;
  IF nothing_lost THEN
    -- Nobody else sees the guard of none.
    EXECUTE format('UPDATE %sleaf_meta SET guard_steps = 0, leases_from = 0', home);
  END IF;
  FOR tag IN EXECUTE format('SELECT biz_tag FROM %sleaf_alloc WHERE granted_by IS DISTINCT FROM $1 ORDER BY 1', home)
    USING here
  LOOP
    BEGIN
      -- Any change of the row leaves out the guard.
      EXECUTE format('UPDATE %sleaf_alloc SET granted_by = granted_by WHERE biz_tag = $1'
                     ' AND granted_by IS DISTINCT FROM $2'
                     ' RETURNING true, granted_by IS NOT DISTINCT FROM $2, left_out_from, left_out_to', home)
      INTO room, is_noticed, left_out_from, left_out_to USING tag, here;
    EXCEPTION WHEN SQLSTATE 'LF001' THEN
      SELECT false, true, NULL, NULL INTO room, is_noticed, left_out_from, left_out_to;
    END;
    CONTINUE WHEN room IS NULL;  -- somebody drew meanwhile
    IF NOT is_noticed THEN
      RAISE EXCEPTION 'table leaf_alloc was made anew without its triggers: IDs that were granted may come again'
        USING ERRCODE = 'LF002', HINT = 'put back the one that was there, or the whole store from a backup';
    END IF;
    RETURN NEXT;
  END LOOP;
  IF nothing_lost THEN
    EXECUTE format('UPDATE %sleaf_meta SET guard_steps = $1', home) USING steps;
  END IF;
END
$body$;

REVOKE EXECUTE ON FUNCTION leaf.leaf_settle(oid, text, boolean) FROM PUBLIC;
