#include "store/postgresql/health_sql.hpp"

#include "store/postgresql/sql_pieces.hpp"

namespace leaf::store::postgresql {

const HealthSql health_sql{
    .server =
        "SELECT split_part(current_setting('server_version'), ' ', 1),"
        " (current_setting('server_version_num')::integer >= 130000)::integer, current_database(), "
        "current_user,"
        " pg_is_in_recovery()::integer, (current_setting('transaction_read_only') = 'on')::integer,"
        " 2147483647 - CASE WHEN current_setting('server_version_num')::integer < 140000 THEN 1000000 ELSE "
        "3000000 END"
        " - age(d.datfrozenxid)::bigint, d.datname"
        " FROM pg_database AS d ORDER BY age(d.datfrozenxid) DESC LIMIT 1",
    .identity =
        "SELECT system_identifier, CASE WHEN pg_is_in_recovery()"
        " THEN (SELECT timeline_id FROM pg_control_checkpoint())"
        " ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer END"
        " FROM pg_control_system()",
    .guard =
        "SELECT guard_steps, (SELECT count(*) FROM leaf_alloc WHERE removed_at IS NULL"
        " AND granted_by IS DISTINCT FROM " SERVER
        "),"
        " CASE WHEN " SAME_LESSOR
        " THEN leases_from END,"
        // After several failovers in a row the guard is more than the steps: those are told when they draw.
        " (SELECT count(*) FROM leaf_alloc WHERE removed_at IS NULL AND granted_by IS DISTINCT FROM " SERVER
        " AND guard_steps * greatest(step, last_grant, 1)::numeric > coalesce(id_limit, " NO_LIMIT
        ") + 1::numeric - max_id),"
        " (SELECT count(*) FROM leaf_alloc WHERE removed_at IS NULL AND left_out_to > left_out_from"
        " AND granted_by IS NOT DISTINCT FROM " SERVER
        "),"
        // The first two parts name the server: see leaf_server().
        " CASE WHEN EXISTS (SELECT FROM (SELECT " SERVER
        " AS name) AS here,"
        " (SELECT granted_by FROM leaf_meta UNION ALL SELECT granted_by FROM leaf_alloc WHERE removed_at IS "
        "NULL)"
        " AS there WHERE (split_part(name, '/', 1), split_part(name, '/', 2))"
        " <> (split_part(granted_by, '/', 1), split_part(granted_by, '/', 2))) THEN 1"
        " WHEN NOT " SAME_LESSOR
        " OR EXISTS (SELECT FROM leaf_alloc WHERE removed_at IS NULL AND granted_by IS DISTINCT FROM " SERVER
        ") THEN 2 ELSE 0 END"
        " FROM leaf_meta WHERE " SERVER " IS NOT NULL",
    .guard_remedy =
        "SELECT format('GRANT EXECUTE ON FUNCTION %s TO %I', string_agg(asked::text, ', '), o.rolname)"
        " FROM pg_proc p JOIN pg_roles o ON o.oid = p.proowner CROSS JOIN LATERAL unnest(ARRAY["
        "to_regprocedure('pg_control_system()'), to_regprocedure('pg_walfile_name(pg_lsn)'),"
        " to_regprocedure('pg_current_wal_insert_lsn()'), "
        "to_regprocedure('pg_relation_filepath(regclass)')]) AS asked"
        " WHERE p.oid = to_regprocedure('leaf_server(oid)') AND NOT has_function_privilege(o.oid, asked, "
        "'EXECUTE')"
        " GROUP BY o.rolname",
    .lost_tags = "SELECT tags, greatest(tags - (SELECT count(*) FROM leaf_alloc), 0) FROM leaf_meta",
    .settings =
        "SELECT name, setting, source FROM pg_settings WHERE name IN"
        " ('synchronous_commit', 'session_replication_role', 'client_min_messages', 'fsync', "
        "'full_page_writes', "
        "'default_transaction_read_only') OR name = 'synchronous_standby_names' AND setting <> '' ORDER BY "
        "name DESC",
    // Who may not see how a standby is connected sees that it is, and the waits of its own role alone.
    .commits_wait =
        "SELECT (current_setting('synchronous_standby_names') <> '' AND NOT pg_is_in_recovery()"
        " AND current_setting('synchronous_commit') NOT IN ('off', 'local')"
        " AND (NOT EXISTS (SELECT FROM pg_stat_replication WHERE coalesce(sync_state, 'sync') IN ('sync', "
        "'quorum'))"
        " OR EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        " AND query_start < clock_timestamp() - interval '2 seconds')))::integer",
    .subscriptions =
        "SELECT DISTINCT quote_ident(s.subname) FROM pg_subscription_rel r JOIN pg_subscription s"
        " ON s.oid = r.srsubid WHERE srrelid IN (" TABLES ") ORDER BY 1",
    .unlogged_tables =
        "SELECT oid::regclass FROM pg_class WHERE relpersistence <> 'p' AND oid IN (" TABLES ") ORDER BY 1",
    // The name that is looked for in every schema is in two pieces, lest it be led by one.
    .missing_rights =
        "SELECT what FROM ("
        "SELECT 0 AS rank, format('USAGE on schema %I', n.nspname) AS what FROM pg_class c JOIN pg_namespace "
        "n"
        " ON n.oid = c.relnamespace WHERE c.relname = 'leaf' || '_meta' AND to_regclass('leaf_meta') IS NULL"
        " AND NOT has_schema_privilege(n.oid, 'USAGE')"
        " UNION ALL SELECT rank, need || ' on ' || relname FROM (VALUES (1, to_regclass('leaf_alloc'), "
        "'SELECT'),"
        " (2, to_regclass('leaf_worker'), 'SELECT'), (3, to_regclass('leaf_worker'), 'INSERT'),"
        " (4, to_regclass('leaf_meta'), 'SELECT')) AS t (rank, found, need) JOIN pg_class c ON c.oid = found"
        " WHERE NOT has_table_privilege(found, need)"
        " UNION ALL SELECT 5, 'UPDATE of ' || relname || '.' || attname"
        " FROM " RUNTIME_COLUMNS
        " JOIN pg_class c ON c.oid = found"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = ANY (written)"
        " WHERE NOT has_column_privilege(a.attrelid, a.attnum, 'UPDATE')"
        " UNION ALL SELECT 6, 'EXECUTE on ' || found::regprocedure FROM unnest(ARRAY["
        " to_regprocedure('leaf_server(oid)'), to_regprocedure('leaf_server(oid, oid)'),"
        " to_regprocedure('leaf_worker_table(oid)'), to_regprocedure('leaf_require_durable(oid)')]) AS found"
        " WHERE NOT has_function_privilege(found, 'EXECUTE')) AS missing ORDER BY rank, what",
};

}  // namespace leaf::store::postgresql
