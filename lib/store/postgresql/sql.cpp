#include "store/postgresql/sql.hpp"

#define NO_LIMIT "9223372036854775806"
#define TAG                                                                                     \
  "biz_tag, max_id, step, start_id, id_limit, description, (extract(epoch FROM update_time) * " \
  "1000)::bigint, "                                                                             \
  "incarnation"
// 1 if a commit may be believed. `local` and better survive a crash of the server; `off` does not. Where
// warnings are not sent, nobody is told that a wait for a synchronous standby was given up. Databases without
// the settings have no such modes.
#define IS_DURABLE                                                              \
  "(current_setting('synchronous_commit', true) IS DISTINCT FROM 'off'"         \
  " AND coalesce(current_setting('client_min_messages', true), '') <> 'error')" \
  "::integer"
#define GRANT "max_id - last_grant, max_id, step, coalesce(id_limit, " NO_LIMIT "), incarnation, " IS_DURABLE

#define CLOCK "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
#define NOW "least($5::bigint, " CLOCK ")"
// A window begins neither before the worker's last one ended nor before what this owner gave up: IDs stay in
// order.
#define BEGIN_AFTER(end)   \
  "greatest(" end ", " NOW \
  ", $4::bigint,"          \
  " (SELECT max(o.window_end) FROM leaf_worker o WHERE o.owner = $1::varchar AND o.token IS NULL))"
#define LATEST "(SELECT max(renewed_at) FROM leaf_worker)"
#define SERVER "leaf_server('leaf_meta'::regclass)"
// False after another server has come, until leases_from has noticed it and its time has come.
#define MAY_LEASE(now) \
  "(SELECT granted_by IS NOT DISTINCT FROM " SERVER " AND leases_from <= " now " FROM leaf_meta)"
#define LEASE(begin) "worker_id, " begin ", window_end, renewed_at, grant_before, " IS_DURABLE
#define TAKE \
  "owner = $1::varchar, token = $2::uuid, window_end = " BEGIN_AFTER("w.window_end") " + $3::bigint," \
  " held_after = w.window_end, renewed_at = " CLOCK ", clock_offset = $5::bigint - " CLOCK ", grant_before = " LATEST
#define WORKER_COLUMNS \
  "(worker_id, owner, token, window_end, held_after, renewed_at, clock_offset, grant_before)"
#define NEW_WORKER \
  "$1::varchar, $2::uuid, " BEGIN_AFTER("0") " + $3::bigint, 0, " CLOCK ", $5::bigint - " CLOCK ", " LATEST

#define TABLES "to_regclass('leaf_alloc'), to_regclass('leaf_worker'), to_regclass('leaf_meta')"
#define PARTITIONS "(SELECT inhrelid FROM pg_inherits WHERE inhparent = to_regclass('leaf_alloc'))"
// What a runtime role may write; the same as in runtime_grants.
#define RUNTIME_COLUMNS                                                                             \
  "('leaf_alloc', 'max_id'), ('leaf_alloc', 'last_grant'), ('leaf_alloc', 'update_time'),"          \
  " ('leaf_worker', 'owner'), ('leaf_worker', 'token'), ('leaf_worker', 'window_end'),"             \
  " ('leaf_worker', 'held_after'), ('leaf_worker', 'renewed_at'), ('leaf_worker', 'clock_offset')," \
  " ('leaf_worker', 'grant_before'), ('leaf_meta', 'next_worker'), ('leaf_meta', 'layout_fixed')"

namespace leaf::store::postgresql {

// The lock's number is arbitrary ("leaf" in ASCII), but the same in every version.
const Sql sql{
    .begin_migration = "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(1818583398)",
    .schema_exists = "SELECT (to_regclass('leaf_meta') IS NOT NULL)::integer",
    .schema =
        "SELECT schema_version, deployment,"
        " (SELECT bool_and(relpersistence = 'p') FROM pg_class WHERE oid IN (" TABLES
        ") OR oid IN " PARTITIONS
        ")::integer"
        " FROM leaf_meta",
    .set_schema_version = "UPDATE leaf_meta SET schema_version = $1::integer",
    .runtime_grants = R"(REVOKE ALL ON leaf_alloc, leaf_worker, leaf_meta FROM {role};
GRANT SELECT ON leaf_alloc, leaf_worker, leaf_meta TO {role};
GRANT UPDATE (max_id, last_grant, update_time) ON leaf_alloc TO {role};
GRANT INSERT, UPDATE (owner, token, window_end, held_after, renewed_at, clock_offset, grant_before)
  ON leaf_worker TO {role};
GRANT UPDATE (next_worker, layout_fixed) ON leaf_meta TO {role};
GRANT EXECUTE ON FUNCTION leaf_server(oid) TO {role};
DO $way$
DECLARE
  home regnamespace := (SELECT relnamespace FROM pg_class WHERE oid = 'leaf_alloc'::regclass);
BEGIN
  IF NOT has_schema_privilege({role_text}, home::oid, 'USAGE') THEN
    EXECUTE format('GRANT USAGE ON SCHEMA %s TO %I', home, {role_text});
  END IF;
  IF NOT has_database_privilege({role_text}, current_database(), 'CONNECT') THEN
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), {role_text});
  END IF;
END
$way$;
)",
    .runtime_role =
        "SELECT (SELECT count(*) FROM pg_roles WHERE rolname = $1::name),"
        " (SELECT coalesce(bool_or(pg_has_role(r.oid, c.relowner, 'MEMBER')), false)::integer"
        " FROM pg_roles r, pg_class c WHERE r.rolname = $1::name"
        " AND c.oid IN ('leaf_alloc'::regclass, 'leaf_worker'::regclass, 'leaf_meta'::regclass))",
    .runtime_excess =
        "SELECT string_agg(what, ', ' ORDER BY what) FROM ("
        " SELECT right_ || ' on ' || relname AS what FROM pg_class c,"
        " unnest(ARRAY['INSERT', 'DELETE', 'TRUNCATE', 'TRIGGER']) AS right_"
        " WHERE c.oid IN ('leaf_alloc'::regclass, 'leaf_worker'::regclass, 'leaf_meta'::regclass)"
        " AND has_table_privilege($1::name, c.oid, right_) AND (relname, right_) <> ('leaf_worker', 'INSERT')"
        " UNION ALL SELECT 'UPDATE of ' || relname || '.' || attname FROM pg_class c"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
        " WHERE c.oid IN ('leaf_alloc'::regclass, 'leaf_worker'::regclass, 'leaf_meta'::regclass)"
        " AND has_column_privilege($1::name, c.oid, a.attnum, 'UPDATE') AND (relname, attname) NOT IN "
        "(" RUNTIME_COLUMNS ")) AS excess",
    .clock = "SELECT " CLOCK,
    .guard_steps = "SELECT guard_steps FROM leaf_meta",
    .set_guard_steps = "UPDATE leaf_meta SET guard_steps = $1::integer",
    // Any change of the row notices another server.
    .leases_from = "WITH noticed AS (UPDATE leaf_meta SET layout_fixed = layout_fixed"
                   " WHERE granted_by IS DISTINCT FROM " SERVER
                   " RETURNING leases_from)"
                   " SELECT coalesce((SELECT leases_from FROM noticed), leases_from), " CLOCK
                   " FROM leaf_meta",

    .grant_exactly =
        "UPDATE leaf_alloc SET max_id = max_id + $2::bigint, last_grant = $2::bigint, update_time = now()"
        " WHERE biz_tag = $1 AND removed_at IS NULL"
        " AND $2::bigint - 1 <= coalesce(id_limit, " NO_LIMIT
        ") - max_id"
        " RETURNING " GRANT,
    .grant_segment =
        "UPDATE leaf_alloc SET update_time = now(),"
        " max_id = max_id +"
        " least(greatest(step, $2::bigint, 1), coalesce(id_limit, " NO_LIMIT
        ") - max_id + 1),"
        " last_grant ="
        " least(greatest(step, $2::bigint, 1), coalesce(id_limit, " NO_LIMIT
        ") - max_id + 1)"
        " WHERE biz_tag = $1 AND removed_at IS NULL AND max_id <= coalesce(id_limit, " NO_LIMIT
        ")"
        " RETURNING " GRANT,

    .add_tag =
        "INSERT INTO leaf_alloc AS t (biz_tag, step, start_id, max_id, id_limit, description)"
        " VALUES ($1, $2::integer, coalesce($3::bigint, 1), coalesce($3::bigint, 1), $4::bigint, $5)"
        " ON CONFLICT (biz_tag) DO UPDATE SET step = excluded.step,"
        " start_id = greatest(t.max_id, excluded.max_id), max_id = greatest(t.max_id, excluded.max_id),"
        " id_limit = excluded.id_limit, description = excluded.description, last_grant = 0,"
        " update_time = now(), incarnation = gen_random_uuid(), removed_at = NULL"
        " WHERE t.removed_at IS NOT NULL"
        " AND ($3::bigint IS NULL OR $3::bigint >= t.max_id)"
        " AND ($4::bigint IS NULL OR $4::bigint >= t.max_id)"
        " RETURNING " TAG,
    .tags = "SELECT " TAG " FROM leaf_alloc WHERE removed_at IS NULL",
    .tag = "SELECT " TAG " FROM leaf_alloc WHERE biz_tag = $1 AND removed_at IS NULL",
    .similar_tags =
        "SELECT biz_tag FROM leaf_alloc WHERE removed_at IS NULL"
        " AND (abs(length(biz_tag) - length($1::varchar)) <= $2::integer"
        " OR left(biz_tag, length($1::varchar)) = $1::varchar) LIMIT $3::bigint",
    .removed_tag = "SELECT max_id FROM leaf_alloc WHERE biz_tag = $1 AND removed_at IS NOT NULL",
    .update_tag =
        "UPDATE leaf_alloc SET step = coalesce($2::integer, step),"
        " id_limit = CASE WHEN $6::integer = 1 THEN NULL ELSE coalesce($3::bigint, id_limit) END,"
        " description = coalesce($4, description), max_id = greatest(max_id, $5::bigint), update_time = now()"
        " WHERE biz_tag = $1 AND removed_at IS NULL"
        " AND (($3::bigint IS NULL AND $5::bigint IS NULL)"
        " OR greatest(max_id, $5::bigint) - 1 <="
        " coalesce(CASE WHEN $6::integer = 1 THEN NULL ELSE coalesce($3::bigint, id_limit) END, " NO_LIMIT
        "))"
        " RETURNING " TAG,
    .remove_tag =
        "UPDATE leaf_alloc SET removed_at = now(), update_time = now()"
        " WHERE biz_tag = $1 AND removed_at IS NULL RETURNING biz_tag",

    .layout = "SELECT layout FROM leaf_meta",
    .set_layout = "UPDATE leaf_meta SET layout = $1 WHERE layout = $1 OR NOT layout_fixed RETURNING layout",
    .acquire_held = "UPDATE leaf_worker w SET " TAKE " WHERE " MAY_LEASE(NOW)
                    " AND w.worker_id = (SELECT c.worker_id FROM leaf_worker c"
                    " WHERE c.window_end <= " NOW
                    " AND (c.owner = $1::varchar OR c.owner IS NULL) AND c.worker_id <= $6::bigint"
                    " ORDER BY c.owner IS NULL, c.worker_id LIMIT 1 FOR UPDATE SKIP LOCKED)"
                    " RETURNING " LEASE("window_end - $3::bigint"),
    .acquire_new =
        "WITH fresh AS (UPDATE leaf_meta SET next_worker = next_worker + 1, layout_fixed = true"
        " WHERE next_worker <= $6::bigint AND " MAY_LEASE(NOW)
        " RETURNING next_worker - 1 AS worker_id)"
        " INSERT INTO leaf_worker " WORKER_COLUMNS " SELECT worker_id, " NEW_WORKER
        " FROM fresh ON CONFLICT (worker_id) DO NOTHING"
        " RETURNING " LEASE("window_end - $3::bigint"),
    .has_new = "SELECT (next_worker <= $1::bigint AND " MAY_LEASE("least($2::bigint, " CLOCK ")") ")::integer FROM leaf_meta",
    .acquire_silent = "UPDATE leaf_worker w SET " TAKE " WHERE " MAY_LEASE(NOW)
                      " AND w.worker_id = (SELECT c.worker_id FROM leaf_worker c"
                      " WHERE c.window_end <= " NOW " AND c.renewed_at <= " CLOCK
                      " - $7::bigint AND c.worker_id <= $6::bigint"
                      " ORDER BY c.renewed_at, c.worker_id LIMIT 1 FOR UPDATE SKIP LOCKED)"
                      " RETURNING " LEASE("window_end - $3::bigint"),
    .acquire_this =
        "WITH fixed AS (UPDATE leaf_meta SET layout_fixed = true WHERE NOT layout_fixed)"
        " INSERT INTO leaf_worker AS w " WORKER_COLUMNS " SELECT $6::integer, " NEW_WORKER
        " WHERE " MAY_LEASE(NOW) " ON CONFLICT (worker_id) DO UPDATE SET " TAKE " WHERE w.window_end <= " NOW
        " AND (w.owner IS NULL OR w.owner = $1::varchar OR w.renewed_at <= " CLOCK
        " - $7::bigint)"
        " RETURNING " LEASE("window_end - $3::bigint"),
    // What is over may have been leased to another by a commit that was lost.
    .renew = "UPDATE leaf_worker SET window_end = greatest(window_end, greatest($3::bigint, " NOW
             ") + $4::bigint),"
             " renewed_at = " CLOCK ", clock_offset = $5::bigint - " CLOCK ", grant_before = " LATEST
             " WHERE worker_id = $1::integer AND token = $2::uuid"
             " AND ($3::bigint > " CLOCK " OR " MAY_LEASE(NOW) ")"
             " RETURNING " LEASE("greatest($3::bigint, " NOW ")"),
    .give_up =
        "UPDATE leaf_worker SET window_end = greatest(held_after, least(window_end, $3::bigint)), token = "
        "NULL"
        " WHERE worker_id = $1::integer AND token = $2::uuid RETURNING worker_id",
    .workers =
        "SELECT worker_id, owner, (token IS NOT NULL)::integer, window_end, renewed_at, clock_offset,"
        " greatest(" CLOCK
        " - renewed_at, 0) FROM leaf_worker WHERE $1::bigint IS NOT NULL ORDER BY worker_id",
    .recycle =
        "UPDATE leaf_worker SET owner = NULL, token = NULL"
        " WHERE worker_id = $1::integer AND owner IS NOT NULL"
        " AND ($3::integer = 1 OR window_end <= least($2::bigint, " CLOCK
        "))"
        " RETURNING worker_id",
    .release =
        "UPDATE leaf_worker SET owner = NULL, token = NULL"
        " WHERE owner = $1 AND ($2::bigint IS NULL OR worker_id = $2::bigint) RETURNING worker_id",
    .recycle_silent =
        "UPDATE leaf_worker SET owner = NULL, token = NULL"
        " WHERE owner IS NOT NULL AND window_end <= least($1::bigint, " CLOCK ") AND renewed_at <= " CLOCK
        " - $2::bigint"
        " RETURNING worker_id",
};

const HealthSql health_sql{
    .server =
        "SELECT split_part(current_setting('server_version'), ' ', 1),"
        " (current_setting('server_version_num')::integer >= 130000)::integer, current_database(), "
        "current_user,"
        " pg_is_in_recovery()::integer, (current_setting('transaction_read_only') = 'on')::integer",
    .identity =
        "SELECT system_identifier, CASE WHEN pg_is_in_recovery()"
        " THEN (SELECT timeline_id FROM pg_control_checkpoint())"
        " ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer END"
        " FROM pg_control_system()",
    .guard =
        "SELECT guard_steps, (SELECT count(*) FROM leaf_alloc WHERE removed_at IS NULL"
        " AND granted_by IS DISTINCT FROM " SERVER
        "),"
        " CASE WHEN granted_by IS NOT DISTINCT FROM " SERVER
        " THEN leases_from END"
        " FROM leaf_meta WHERE " SERVER " IS NOT NULL",
    .settings =
        "SELECT name, setting, source FROM pg_settings WHERE name IN"
        " ('synchronous_commit', 'client_min_messages', 'fsync', 'full_page_writes', "
        "'default_transaction_read_only') ORDER BY name DESC",
    .unlogged_tables = "SELECT oid::regclass FROM pg_class WHERE relpersistence <> 'p' AND (oid IN (" TABLES
                       ") OR oid IN " PARTITIONS ") ORDER BY 1",
    .missing_rights =
        "SELECT format('USAGE on schema %I', n.nspname) FROM pg_class c JOIN pg_namespace n"
        " ON n.oid = c.relnamespace WHERE c.relname = 'leaf_meta' AND to_regclass('leaf_meta') IS NULL"
        " AND NOT has_schema_privilege(n.oid, 'USAGE')"
        " UNION ALL SELECT need || ' on ' || name FROM (VALUES ('leaf_alloc', 'SELECT'),"
        " ('leaf_worker', 'SELECT'), ('leaf_worker', 'INSERT'), ('leaf_meta', 'SELECT')) AS t (name, need)"
        " WHERE NOT has_table_privilege(to_regclass(name), need)"
        " UNION ALL SELECT 'UPDATE of ' || name || '.' || attname"
        " FROM (VALUES " RUNTIME_COLUMNS
        ") AS t (name, written) JOIN pg_attribute a"
        " ON a.attrelid = to_regclass(name) AND a.attname = written"
        " WHERE NOT has_column_privilege(a.attrelid, a.attnum, 'UPDATE')"
        " UNION ALL SELECT 'EXECUTE on ' || found FROM to_regprocedure('leaf_server(oid)') AS found"
        " WHERE NOT has_function_privilege(found, 'EXECUTE')",
};

}  // namespace leaf::store::postgresql
