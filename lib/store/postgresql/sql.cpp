#include "store/postgresql/sql.hpp"

#define NO_LIMIT "9223372036854775806"
#define TAG                                                                                     \
  "biz_tag, max_id, step, start_id, id_limit, description, (extract(epoch FROM update_time) * " \
  "1000)::bigint, "                                                                             \
  "incarnation"
// `local` and better survive a crash of the server; `off` does not. Databases without the setting have no
// such mode.
#define GRANT                                                       \
  "max_id - last_grant, max_id, step, coalesce(id_limit, " NO_LIMIT \
  "), incarnation, "                                                \
  "(current_setting('synchronous_commit', true) IS DISTINCT FROM 'off')::integer"

namespace leaf::store::postgresql {

// The lock's number is arbitrary ("leaf" in ASCII), but the same in every version.
const Sql sql{
    .begin_migration = "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock(1818583398)",
    .schema_exists = "SELECT (to_regclass('leaf_meta') IS NOT NULL)::integer",
    .schema =
        "SELECT schema_version, deployment,"
        " (SELECT relpersistence = 'p' FROM pg_class WHERE oid = to_regclass('leaf_alloc'))::integer"
        " FROM leaf_meta",
    .set_schema_version = "UPDATE leaf_meta SET schema_version = $1::integer",

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
};

}  // namespace leaf::store::postgresql
