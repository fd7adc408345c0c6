#include "store/sqlite/sql.hpp"

#define NO_LIMIT "9223372036854775806"
#define NOW "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
#define NEW_UUID                                                                                        \
  "(SELECT substr(h, 1, 8) || '-' || substr(h, 9, 4) || '-4' || substr(h, 14, 3) || '-' ||"             \
  " substr('89ab', 1 + (unicode(substr(h, 17, 1)) & 3), 1) || substr(h, 18, 3) || '-' || substr(h, 21)" \
  " FROM (SELECT lower(hex(randomblob(16))) AS h))"
#define MS(time) "CAST(round((julianday(" time ") - 2440587.5) * 86400000) AS INTEGER)"
#define TAG \
  "biz_tag, max_id, step, start_id, id_limit, description," \
  " " MS("coalesce(changed_at, update_time)") ", incarnation," \
  " CASE WHEN last_grant > 0 THEN " MS("update_time") " END"
// The driver's own: leaf_user() is who runs this program, leaf_floor(FLOOR) what this host knows to be
// granted.
#define FIELD(name) "json_extract(value, '$." name "')"
// The triggers tell a change by this program from one by hand by the time, which has to be another one.
#define CHANGED                                                   \
  "changed_at = CASE changed_at WHEN " NOW                        \
  " THEN strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '+0.001 seconds')" \
  " ELSE " NOW " END, changed_by = leaf_user()"
#define FREE "UPDATE leaf_worker SET owner = NULL, token = NULL, freed_by = leaf_user()"
// A commit is durable by the connection's `synchronous` setting, which the driver makes.
// No deployment where the schema has come to ask for a later release since it was looked at.
#define IDENTITY "(SELECT deployment FROM leaf_meta WHERE min_reader <= " NEWEST_SCHEMA "), NULL"
#define GRANT                                                                                      \
  "max_id - last_grant, max_id, step, coalesce(id_limit, " NO_LIMIT "), incarnation, 1, " IDENTITY \
  ", coalesce(start_id, 1)"

// The store's clock is this host's, and so the caller's.
#define BEGIN_AFTER(end)                                            \
  "max(" end                                                        \
  ", $5, $4, coalesce((SELECT max(o.window_end) FROM leaf_worker o" \
  " WHERE o.owner = $1 AND o.token IS NULL), 0))"
#define MAY_LEASE \
  "$5 BETWEEN $7 AND $8 AND " BEGIN_AFTER("0") " BETWEEN $10 AND $11"                                 \
  " AND NOT EXISTS (SELECT 1 FROM leaf_worker o WHERE o.owner = $1"                                   \
  " AND (o.renewed_at > $8 OR o.token IS NULL AND o.window_end > $9))"
// Whether the store leases this one.
#define IN_RANGE(worker) \
  "(SELECT " worker " BETWEEN first_worker AND coalesce(last_worker, " worker ") FROM leaf_meta)"
#define LEASE(begin) "worker_id, " begin ", window_end, 1, " IDENTITY ", (SELECT layout FROM leaf_meta)"
#define TAKE \
  "owner = $1, token = $2, window_end = " BEGIN_AFTER("leaf_worker.window_end") " + $3,"   \
  " held_after = leaf_worker.window_end, renewed_at = $5, clock_offset = 0"
#define WORKER_COLUMNS "(worker_id, owner, token, window_end, held_after, renewed_at, clock_offset)"
#define NEW_WORKER "$1, $2, " BEGIN_AFTER("0") " + $3, 0, $5, 0"
// In the place of the store's tables.
#define FROM_VIEWS                                      \
  " FROM sqlite_schema WHERE type = 'view' AND name IN" \
  " ('leaf_alloc', 'leaf_event', 'leaf_meta', 'leaf_worker')"

namespace leaf::store::sqlite {

const Sql sql{
    .begin_migration = "BEGIN IMMEDIATE",
    .migration_settings = "",
    .locked_tables = nullptr,
    .locked_rows = nullptr,
    .missing_events =
        "SELECT type || ' ' || name FROM (SELECT 'table' AS type, 'leaf_event' AS name"
        " UNION ALL SELECT 'trigger', value FROM json_each('[\"leaf_event_kept\",\"leaf_alloc_added\","
        "\"leaf_alloc_added_again\",\"leaf_alloc_changed\",\"leaf_worker_freed\"]')) AS wanted"
        " WHERE NOT EXISTS (SELECT 1 FROM sqlite_schema AS s WHERE s.type = wanted.type AND s.name = wanted.name)"
        " ORDER BY 1",
    .triggers = "SELECT name, 1, '' FROM sqlite_schema WHERE type = 'trigger'",
    .missing_keys = nullptr,
    .functions_there = nullptr,
    .drop_event_triggers = R"(DROP TRIGGER IF EXISTS leaf_event_kept;
DROP TRIGGER IF EXISTS leaf_alloc_added;
DROP TRIGGER IF EXISTS leaf_alloc_added_again;
DROP TRIGGER IF EXISTS leaf_alloc_changed;
DROP TRIGGER IF EXISTS leaf_worker_freed;
)",
    .table_faults = "SELECT name || ' is a view', '', 1" FROM_VIEWS " ORDER BY 1",
    .schema_exists = "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'leaf_meta'",
    .schema =
        "SELECT schema_version, deployment, 1, (SELECT min_reader FROM leaf_meta), (SELECT min_release FROM "
        "leaf_meta), NOT EXISTS (SELECT 1" FROM_VIEWS
        ")"
        // Inside of the brackets a column that the table lacks means the one outside.
        " FROM leaf_meta, (SELECT NULL AS min_reader, NULL AS min_release)",
    .set_schema_version = "UPDATE leaf_meta SET schema_version = $1",
    .confirm = nullptr,
    .raise_minimum_reader = "UPDATE leaf_meta SET min_reader = $1, min_release = $2 WHERE min_reader < $1",
    .identity = "SELECT " IDENTITY,
    .begin_deployment = "UPDATE leaf_meta SET deployment = $2 WHERE deployment = $1 RETURNING deployment",
    .note_deployment =
        "INSERT INTO leaf_event (who, event, detail) VALUES (leaf_user(), 'deployment', $1 || ' to ' || $2)",
    .runtime_grants = nullptr,
    .runtime_role = nullptr,
    .runtime_excess = nullptr,
    .foreign_objects = nullptr,
    .lock_tables = nullptr,
    .refuse_foreign_objects = nullptr,
    .schema_creators = nullptr,
    .schema_owners = nullptr,
    .functions = nullptr,
    .schema_named = nullptr,
    .layout_text = nullptr,
    .functions_found = nullptr,
    .clock = nullptr,
    .guard_steps = nullptr,
    .set_guard_steps = nullptr,
    .leases_from = nullptr,
    .failover = nullptr,
    .failover_tags = nullptr,
    .settle_failover = nullptr,

    .grant_exactly = "UPDATE leaf_alloc SET max_id = max_id + $2, last_grant = $2, update_time = " NOW
                     " WHERE biz_tag = $1 AND removed_at IS NULL AND $2 - 1 <= coalesce(id_limit, " NO_LIMIT
                     ") - max_id AND max_id >= leaf_floor($3)"
                     " RETURNING " GRANT,
    .grant_segment = "UPDATE leaf_alloc SET update_time = " NOW
                     ","
                     " max_id = max_id + min(max(step, $2, 1), coalesce(id_limit, " NO_LIMIT
                     ") - max_id + 1),"
                     " last_grant = min(max(step, $2, 1), coalesce(id_limit, " NO_LIMIT
                     ") - max_id + 1)"
                     " WHERE biz_tag = $1 AND removed_at IS NULL AND max_id <= coalesce(id_limit, " NO_LIMIT
                     ") AND max_id >= leaf_floor($3)"
                     " RETURNING " GRANT,

    .add_tag =
        "INSERT INTO leaf_alloc AS t (biz_tag, step, start_id, max_id, id_limit, description, incarnation,"
        " changed_at, changed_by)"
        " VALUES ($1, $2, coalesce($3, 1), coalesce($3, 1), $4, $5, " NEW_UUID ", " NOW
        ", leaf_user())"
        " ON CONFLICT (biz_tag) DO UPDATE SET step = excluded.step,"
        " start_id = max(t.max_id, excluded.max_id), max_id = max(t.max_id, excluded.max_id),"
        " id_limit = excluded.id_limit, description = excluded.description, last_grant = 0,"
        " " CHANGED ", incarnation = excluded.incarnation, removed_at = NULL"
        " WHERE t.removed_at IS NOT NULL AND ($3 IS NULL OR $3 >= t.max_id) AND ($4 IS NULL OR $4 >= "
        "t.max_id - $6)"
        " RETURNING " TAG,
    .tags_named = "SELECT " TAG ", removed_at IS NOT NULL FROM leaf_alloc"
                  " WHERE biz_tag IN (SELECT value FROM json_each($1))",
    .add_tags =
        "INSERT INTO leaf_alloc AS t (biz_tag, step, start_id, max_id, id_limit, description, incarnation,"
        " changed_at, changed_by)"
        " SELECT " FIELD("tag") ", " FIELD("step") ", " FIELD("start") ", " FIELD("start") ", " FIELD("id_limit")
        ", " FIELD("description") ", " FIELD("incarnation") ", " NOW ", leaf_user() FROM json_each($1) WHERE true"
        " ON CONFLICT (biz_tag) DO UPDATE SET step = excluded.step,"
        " start_id = max(t.max_id, excluded.max_id), max_id = max(t.max_id, excluded.max_id),"
        " id_limit = excluded.id_limit, description = excluded.description, last_grant = 0,"
        " " CHANGED ", incarnation = excluded.incarnation, removed_at = NULL"
        " WHERE t.removed_at IS NOT NULL AND excluded.max_id >= t.max_id"
        " AND (excluded.id_limit IS NULL OR excluded.id_limit >= t.max_id - 1)"
        " RETURNING " TAG,
    .update_tags =
        "UPDATE leaf_alloc SET step = coalesce(new.step, leaf_alloc.step),"
        " id_limit = coalesce(new.id_limit, leaf_alloc.id_limit),"
        " description = coalesce(new.description, leaf_alloc.description),"
        " max_id = max(max_id, coalesce(raise_to, max_id)), " CHANGED
        " FROM (SELECT " FIELD("tag") " AS tag, " FIELD("step") " AS step, " FIELD("id_limit") " AS id_limit, "
        FIELD("description") " AS description, " FIELD("raise_to") " AS raise_to FROM json_each($1)) AS new"
        " WHERE biz_tag = tag AND removed_at IS NULL AND ((new.id_limit IS NULL AND raise_to IS NULL)"
        " OR max(max_id, coalesce(raise_to, max_id)) - 1 <= coalesce(new.id_limit, leaf_alloc.id_limit, " NO_LIMIT "))"
        " RETURNING " TAG,
    .bury_tags =
        "UPDATE leaf_alloc SET max_id = max(max_id, raise_to), removed_at = coalesce(removed_at, " NOW "), " CHANGED
        " FROM (SELECT " FIELD("tag") " AS tag, " FIELD("raise_to") " AS raise_to, " FIELD("is_added") " AS is_added"
        " FROM json_each($1)) AS new"
        " WHERE biz_tag = tag AND (removed_at IS NOT NULL OR is_added = 1) RETURNING " TAG,
    .tags = "SELECT " TAG " FROM leaf_alloc WHERE removed_at IS NULL",
    .all_tags = "SELECT " TAG ", removed_at IS NOT NULL FROM leaf_alloc",
    .tag = "SELECT " TAG ", removed_at IS NOT NULL, leaf_meta.deployment"
           " FROM leaf_meta LEFT JOIN leaf_alloc ON biz_tag = $1",
    .similar_tags =
        "SELECT biz_tag FROM leaf_alloc WHERE removed_at IS NULL"
        " AND (abs(length(biz_tag) - length($1)) <= $2 OR substr(biz_tag, 1, length($1)) = $1) LIMIT $3",
    .update_tag =
        "UPDATE leaf_alloc SET step = coalesce($2, step),"
        " id_limit = CASE WHEN $6 = 1 THEN NULL ELSE coalesce($3, id_limit) END,"
        " description = coalesce($4, description), max_id = max(max_id, coalesce($5, max_id)),"
        " " CHANGED
        " WHERE biz_tag = $1 AND removed_at IS NULL AND (($3 IS NULL AND $5 IS NULL)"
        " OR max(max_id, coalesce($5, max_id)) - 1 <="
        " coalesce(CASE WHEN $6 = 1 THEN NULL ELSE coalesce($3, id_limit) END, " NO_LIMIT
        "))"
        " RETURNING " TAG,
    .remove_tag = "UPDATE leaf_alloc SET removed_at = coalesce(removed_at, " NOW "), " CHANGED
                  " WHERE biz_tag = $1 AND (removed_at IS NULL OR $2 = 1) RETURNING biz_tag",

    .events = "SELECT " MS("happened_at") ", who, NULL, event, biz_tag, worker_id, detail FROM leaf_event"
              " WHERE ($1 IS NULL OR biz_tag = $1) AND " MS("happened_at") " >= $2 ORDER BY event_id",

    .layout = "SELECT layout, first_worker, last_worker, EXISTS (SELECT 1 FROM leaf_worker), deployment"
              " FROM leaf_meta",
    .set_layout =
        "UPDATE leaf_meta SET layout = $1 WHERE (layout = $1 OR NOT EXISTS (SELECT 1 FROM leaf_worker))"
        " AND max(first_worker, coalesce(last_worker, 0)) <= $2 RETURNING layout",
    .set_workers =
        "UPDATE leaf_meta SET first_worker = $1, last_worker = $2 WHERE layout = $3"
        " AND NOT EXISTS (SELECT 1 FROM leaf_worker"
        " WHERE worker_id NOT BETWEEN $1 AND coalesce($2, worker_id) AND window_end > $4)"
        " RETURNING first_worker",
    .acquire_held = "UPDATE leaf_worker SET " TAKE " WHERE " MAY_LEASE
                    " AND worker_id = (SELECT c.worker_id FROM leaf_worker c"
                    " WHERE (c.window_end <= $5 AND (c.owner = $1 OR c.owner IS NULL)"
                    " OR c.owner = $1 AND c.token IS NULL) AND c.worker_id <= $6"
                    " AND " IN_RANGE("c.worker_id")
                    " ORDER BY c.owner IS NULL, c.worker_id LIMIT 1)"
                    " RETURNING " LEASE("window_end - $3"),
    .acquire_new =
        "INSERT INTO leaf_worker " WORKER_COLUMNS " SELECT free.id, " NEW_WORKER
        " FROM (SELECT min(id) AS id FROM"
        " (SELECT first_worker AS id FROM leaf_meta UNION ALL SELECT worker_id + 1 FROM leaf_worker)"
        " WHERE id NOT IN (SELECT worker_id FROM leaf_worker) AND " IN_RANGE("id") ") AS free WHERE free.id <= $6"
        " AND " MAY_LEASE " RETURNING " LEASE("window_end - $3"),
    .has_new = "SELECT 0 FROM leaf_meta WHERE $1 IS NOT NULL AND $2 IS NOT NULL",
    .acquire_silent = "UPDATE leaf_worker SET " TAKE " WHERE " MAY_LEASE
                      " AND worker_id = (SELECT c.worker_id FROM leaf_worker c"
                      " WHERE c.window_end <= $5 AND c.renewed_at <= $5 - $12 AND c.worker_id <= $6"
                      " AND " IN_RANGE("c.worker_id")
                      " ORDER BY c.renewed_at, c.worker_id LIMIT 1)"
                      " RETURNING " LEASE("window_end - $3"),
    .acquire_this =
        "INSERT INTO leaf_worker " WORKER_COLUMNS " SELECT $6, " NEW_WORKER " WHERE " MAY_LEASE
        " ON CONFLICT (worker_id) DO UPDATE SET " TAKE
        " WHERE leaf_worker.window_end <= $5"
        " AND (leaf_worker.owner IS NULL OR leaf_worker.owner = $1 OR leaf_worker.renewed_at <= $5 - $12)"
        " OR leaf_worker.owner = $1 AND leaf_worker.token IS NULL"
        " RETURNING " LEASE("window_end - $3"),
    .touch_worker = "UPDATE leaf_worker SET clock_offset = $1 WHERE worker_id ="
                    " (SELECT worker_id FROM leaf_worker ORDER BY renewed_at DESC LIMIT 1)"
                    " RETURNING worker_id, (clock_offset = $1)",
    .renew =
        "UPDATE leaf_worker SET window_end = max(window_end, max($3, $5) + $4), renewed_at = $5,"
        " clock_offset = 0"
        " WHERE worker_id = $1 AND token = $2"
        " AND $5 BETWEEN $6 AND $7 AND renewed_at <= $7 AND max($3, $5) <= $8"
        " RETURNING " LEASE("max($3, $5)"),
    .owner_clocks =
        "SELECT $2, max(renewed_at), max(CASE WHEN token IS NULL THEN window_end END) FROM leaf_worker"
        " WHERE owner = $1",
    .lease_clocks = "SELECT $3, renewed_at, NULL, NULL FROM leaf_worker WHERE worker_id = $1 AND token = $2",
    .give_up =
        "UPDATE leaf_worker SET window_end = max(held_after, min(window_end, $3)), token = NULL,"
        " owner = CASE $4 WHEN 1 THEN NULL ELSE owner END"
        " WHERE worker_id = $1 AND token = $2 RETURNING worker_id",
    .give_up_others =
        "UPDATE leaf_worker SET window_end = max(held_after, window_end - $4), token = NULL"
        " WHERE owner = $1 AND token = $2 AND worker_id <> $3 RETURNING worker_id",
    .workers =
        "SELECT worker_id, owner, token IS NOT NULL, window_end, renewed_at, clock_offset,"
        " $1 - renewed_at, " IN_RANGE("worker_id") " FROM leaf_worker ORDER BY worker_id",
    .recycle =
        FREE
        " WHERE worker_id = $1 AND owner IS NOT NULL AND ($3 = 1 OR window_end <= $2) RETURNING worker_id",
    .release =
        FREE
        " WHERE owner = $1 AND ($2 IS NULL OR worker_id = $2) RETURNING worker_id",
    .recycle_silent =
        FREE
        " WHERE owner IS NOT NULL AND window_end <= $1 AND renewed_at <= $1 - $2 RETURNING worker_id",
};

}  // namespace leaf::store::sqlite
