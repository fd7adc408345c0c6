-- minimum reader: 6
-- A subscription writes what another server has, and none of the triggers runs that keep IDs from coming again. As in 0009,
-- but for that.
CREATE OR REPLACE FUNCTION leaf.leaf_require_durable(changed oid) RETURNS boolean LANGUAGE plpgsql
  SET search_path = pg_catalog, pg_temp AS $body$
DECLARE
  subscription name;
BEGIN
  IF coalesce(current_setting('synchronous_commit', true), '') = 'off'
     OR coalesce(current_setting('client_min_messages', true), '') = 'error'
  THEN
    RAISE EXCEPTION 'commits may be lost in a crash: ''synchronous_commit'' is off, or'
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
  SELECT s.subname INTO subscription FROM pg_subscription_rel r JOIN pg_subscription s ON s.oid = r.srsubid
  WHERE r.srrelid = changed LIMIT 1;
  IF FOUND THEN
    RAISE EXCEPTION 'a subscription writes into table %: what it brings may set IDs back', changed::regclass
      USING ERRCODE = 'LF002',
        HINT = format('once nothing is drawn from the server that it follows, run ''DROP SUBSCRIPTION %I'';'
                      ' leafctl-operations(7) says how to go on', subscription);
  END IF;
  RETURN true;
END
$body$;
