#include "store/sqlite/sql.hpp"

#define NO_LIMIT "9223372036854775806"
#define NOW "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
#define NEW_UUID                                                                                        \
  "(SELECT substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-4' || substr(h, 14, 3) || '-' ||"             \
  " substr('89ab', 1 + (unicode(substr(h, 17, 1)) & 3), 1) || substr(h, 18, 3) || '-' || substr(h, 21)" \
  " FROM (SELECT lower(hex(randomblob(16))) AS h))"
#define TAG                                                 \
  "biz_tag, max_id, step, start_id, id_limit, description," \
  " CAST(round((julianday(update_time) - 2440587.5) * 86400000) AS INTEGER), incarnation"
// A commit is durable by the connection's `synchronous` setting, which the driver makes.
#define GRANT "max_id - last_grant, max_id, step, coalesce(id_limit, " NO_LIMIT "), incarnation, 1"

namespace leaf::store::sqlite {

const Sql sql{
    .begin_migration = "BEGIN IMMEDIATE",
    .schema_exists = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'leaf_meta'",
    .schema = "SELECT schema_version, deployment, 1 FROM leaf_meta",
    .set_schema_version = "UPDATE leaf_meta SET schema_version = $1",

    .grant_exactly = "UPDATE leaf_alloc SET max_id = max_id + $2, last_grant = $2, update_time = " NOW
                     " WHERE biz_tag = $1 AND removed_at IS NULL AND $2 - 1 <= coalesce(id_limit, " NO_LIMIT
                     ") - max_id"
                     " RETURNING " GRANT,
    .grant_segment = "UPDATE leaf_alloc SET update_time = " NOW
                     ","
                     " max_id = max_id + min(max(step, $2, 1), coalesce(id_limit, " NO_LIMIT
                     ") - max_id + 1),"
                     " last_grant = min(max(step, $2, 1), coalesce(id_limit, " NO_LIMIT
                     ") - max_id + 1)"
                     " WHERE biz_tag = $1 AND removed_at IS NULL AND max_id <= coalesce(id_limit, " NO_LIMIT
                     ")"
                     " RETURNING " GRANT,

    .add_tag =
        "INSERT INTO leaf_alloc AS t (biz_tag, step, start_id, max_id, id_limit, description, incarnation)"
        " VALUES ($1, $2, coalesce($3, 1), coalesce($3, 1), $4, $5, " NEW_UUID
        ")"
        " ON CONFLICT (biz_tag) DO UPDATE SET step = excluded.step,"
        " start_id = max(t.max_id, excluded.max_id), max_id = max(t.max_id, excluded.max_id),"
        " id_limit = excluded.id_limit, description = excluded.description, last_grant = 0,"
        " update_time = excluded.update_time, incarnation = excluded.incarnation, removed_at = NULL"
        " WHERE t.removed_at IS NOT NULL AND ($3 IS NULL OR $3 >= t.max_id) AND ($4 IS NULL OR $4 >= "
        "t.max_id)"
        " RETURNING " TAG,
    .tags = "SELECT " TAG " FROM leaf_alloc WHERE removed_at IS NULL",
    .tag = "SELECT " TAG " FROM leaf_alloc WHERE biz_tag = $1 AND removed_at IS NULL",
    .removed_tag = "SELECT max_id FROM leaf_alloc WHERE biz_tag = $1 AND removed_at IS NOT NULL",
    .update_tag =
        "UPDATE leaf_alloc SET step = coalesce($2, step),"
        " id_limit = CASE WHEN $6 = 1 THEN NULL ELSE coalesce($3, id_limit) END,"
        " description = coalesce($4, description), max_id = max(max_id, coalesce($5, max_id)),"
        " update_time = " NOW
        " WHERE biz_tag = $1 AND removed_at IS NULL AND (($3 IS NULL AND $5 IS NULL)"
        " OR max(max_id, coalesce($5, max_id)) - 1 <="
        " coalesce(CASE WHEN $6 = 1 THEN NULL ELSE coalesce($3, id_limit) END, " NO_LIMIT
        "))"
        " RETURNING " TAG,
    .remove_tag = "UPDATE leaf_alloc SET removed_at = " NOW ", update_time = " NOW
                  " WHERE biz_tag = $1 AND removed_at IS NULL RETURNING biz_tag",
};

}  // namespace leaf::store::sqlite
