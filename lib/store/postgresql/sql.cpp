#include "store/postgresql/sql.hpp"

#include "store/postgresql/foreign_objects.hpp"
#include "store/postgresql/functions.hpp"
#include "store/postgresql/locks_sql.hpp"
#include "store/postgresql/rights_sql.hpp"
#include "store/postgresql/sql_pieces.hpp"
#include "store/postgresql/table_faults_sql.hpp"

// Of a time that somebody has set to infinity, the last or first that there is.
#define MS(time)                                 \
  "(extract(epoch FROM least(greatest(" time     \
  ", '4713-11-25 00:00:00+00 BC'::timestamptz)," \
  " '294276-12-31 23:59:59.999+00'::timestamptz)) * 1000)::bigint"
#define TAG \
  "biz_tag, max_id, step, start_id, id_limit, description," \
  " " MS("coalesce(changed_at, update_time)") ", incarnation," \
  " CASE WHEN last_grant > 0 THEN " MS("update_time") " END"
// Where others have columns of these names.
#define CHANGED_TAG \
  "biz_tag, max_id, leaf_alloc.step, start_id, leaf_alloc.id_limit, leaf_alloc.description,"            \
  " " MS("coalesce(changed_at, update_time)") ", incarnation,"                                          \
  " CASE WHEN last_grant > 0 THEN " MS("update_time") " END"
// None where the schema has come to ask for a later release since it was looked at.
#define DEPLOYMENT "(SELECT deployment FROM leaf_meta WHERE min_reader <= " NEWEST_SCHEMA ")"
// Whether a commit may be believed: see require_durable(). Else the statement fails, so that what is refused
// uses nothing up. `local` and better survive a crash of the server;
// `off` does not. Where a standby is waited for, `local` does not wait: a failover would lose it, after which
// an operator may say that none was lost. `remote_write` waits, and a role may have it. Where warnings are
// not sent, nobody is told that a wait for a synchronous standby was given up. In the role of a replica no
// trigger runs. Databases without the settings have no such modes. Unlogged tables cannot be published; to
// ask that costs a tenth of a look into pg_class. A subscription writes what another server has, and no
// trigger runs.
#define REFUSED(code) " THEN CASE WHEN leaf_require_durable(tableoid) THEN " code " END"
#define DURABILITY(further) \
  "CASE WHEN current_setting('synchronous_commit', true) = 'off'"                    \
  " OR current_setting('client_min_messages', true) = 'error'" REFUSED("0")          \
  " WHEN current_setting('synchronous_commit', true) = 'local'"                      \
  " AND current_setting('synchronous_standby_names', true) <> ''" REFUSED("5")       \
  " WHEN current_setting('session_replication_role', true) = 'replica'" REFUSED("4") \
  " WHEN NOT pg_relation_is_publishable(tableoid)" REFUSED("2")                      \
  " WHEN tableoid IN (SELECT srrelid FROM pg_subscription_rel)" REFUSED("6") further " ELSE 1 END"
// A trigger of somebody's may put the old row back: it lacks what the statement has written.
#define IS_DURABLE_LEASE DURABILITY(" WHEN token IS DISTINCT FROM " HASH " THEN 7")
// A table that was made anew without the triggers keeps the name of the one that it was copied from.
#define IS_DURABLE_GRANT                                                                 \
  DURABILITY(                                                                            \
      " WHEN split_part(granted_by, '.', 3) <> 'leaf_alloc'::regclass::oid::text THEN 3" \
      " WHEN update_time <> now() THEN 7")
// Who grants, as the guard knows it, and since when this server runs: copies of its files can say the same of
// themselves while both run.
#define SERVER_START "(extract(epoch FROM pg_postmaster_start_time()) * 1000000)::bigint::text"
#define GRANTER "granted_by || '@' || " SERVER_START
#define GRANT                                                                                           \
  "max_id - last_grant, max_id, step, coalesce(id_limit, " NO_LIMIT "), incarnation, " IS_DURABLE_GRANT \
  ", " DEPLOYMENT ", " GRANTER ", coalesce(start_id, 1)"

// Administration is refused by an error, and changes nothing.
#define MAY_CHANGE(table) "leaf_require_durable('" table "'::regclass::oid)"

#define CLOCK "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"
#define NOW "least($5::bigint, " CLOCK ")"
// A window begins neither before the worker's last one ended nor before what this owner gave up: IDs stay in
// order.
#define BEGIN_AFTER(end)   \
  "greatest(" end ", " NOW \
  ", $4::bigint,"          \
  " (SELECT max(o.window_end) FROM leaf_worker o WHERE o.owner = $1::varchar AND o.token IS NULL))"
// Where another server came the guard leaves out more than the floor asks for, or less, which is seen
// afterwards. In a query of its own the planner does not run the function, which fails on a standby.
#define ABOVE_FLOOR "(max_id >= $3::bigint OR granted_by IS DISTINCT FROM (SELECT " SERVER "))"
// False after another server has come, until leases_from has noticed it and its time has come.
#define KNOWS_LEASES(now) "(SELECT " SAME_LESSOR " AND leases_from <= " now " FROM leaf_meta)"
#define MAY_LEASE   \
  KNOWS_LEASES(NOW) \
  " AND " CLOCK " BETWEEN $7::bigint AND $8::bigint"                                                    \
  " AND " BEGIN_AFTER("0::bigint") " BETWEEN $10::bigint AND $11::bigint"                               \
  " AND NOT EXISTS (SELECT 1 FROM leaf_worker o WHERE o.owner = $1::varchar"                            \
  " AND (o.renewed_at > $8::bigint OR o.token IS NULL AND o.window_end > $9::bigint))"
// A renewal is granted before leaf_meta notices another server, so it asks which one this is.
#define LESSOR SERVER " || '@' || " SERVER_START
#define LEASE(begin)                                                                        \
  "worker_id, " begin ", window_end, " IS_DURABLE_LEASE ", " DEPLOYMENT ", (SELECT " LESSOR \
  "), (SELECT layout FROM leaf_meta)"
// Whether the store leases this one.
#define IN_RANGE(worker) \
  "(SELECT " worker " BETWEEN first_worker AND coalesce(last_worker, " worker ") FROM leaf_meta)"
// What a row keeps of a holder's key, so that nobody who reads it can give up for the holder.
#define HASH "left(encode(sha256(uuid_send($2::uuid)), 'hex'), 32)::uuid"
#define TAKE \
  "owner = $1::varchar, token = " HASH ", window_end = " BEGIN_AFTER("w.window_end") " + $3::bigint," \
  " held_after = w.window_end, renewed_at = " CLOCK ", clock_offset = $5::bigint - " CLOCK
// By command: that held_after is named tells the trigger that notes it.
#define FREE "UPDATE leaf_worker SET owner = NULL, token = NULL, held_after = held_after"
#define WORKER_COLUMNS "(worker_id, owner, token, window_end, held_after, renewed_at, clock_offset)"
// Not before the transaction, as what a backup puts back: the clock may have been set back while it waited.
#define NEW_WORKER \
  "$1::varchar, " HASH ", " BEGIN_AFTER("0") " + $3::bigint, 0,"                                   \
  " greatest(" CLOCK ", floor(extract(epoch FROM now()) * 1000)::bigint), $5::bigint - " CLOCK

namespace leaf::store::postgresql {

const Sql sql{
    .begin_migration =
        "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL quote_all_identifiers = off;"
        " SET LOCAL standard_conforming_strings = on;"
        " SET LOCAL plpgsql.extra_errors = 'none'; SET LOCAL plpgsql.extra_warnings = 'none';"
        " SELECT pg_catalog.pg_advisory_xact_lock(" MIGRATION_LOCK ")",
    .migration_settings = "SET LOCAL search_path = pg_catalog, pg_temp;\n",
    .locked_tables = locked_tables,
    .locked_rows = locked_rows,
    // Names of triggers are in two pieces, lest they be led by the schema's.
    .missing_events =
        "SELECT 'table leaf' || '_event' WHERE to_regclass('leaf_event') IS NULL"
        " UNION ALL SELECT 'trigger leaf' || name FROM (VALUES ('_event_kept', to_regclass('leaf_event')),"
        " ('_alloc_added', to_regclass('leaf_alloc')), ('_alloc_changed', to_regclass('leaf_alloc')),"
        " ('_worker_freed', to_regclass('leaf_worker'))) AS wanted (name, home) WHERE home IS NOT NULL"
        " AND NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = home AND tgname = 'leaf' || name"
        " AND tgenabled IN ('O', 'A')) ORDER BY 1",
    .triggers =
        "SELECT tgname, (tgenabled IN ('O', 'A'))::integer,"
        " format('ALTER TABLE %s ENABLE TRIGGER %I;', tgrelid::regclass, tgname) FROM pg_trigger"
        " WHERE tgrelid IN (" TABLES ") AND NOT tgisinternal ORDER BY tgname",
    .missing_keys =
        "SELECT 'primary key of ' || c.relname, format('ALTER TABLE %s ADD PRIMARY KEY (%I);', home, attname)"
        " FROM (VALUES (to_regclass('leaf_alloc'), 'biz_tag'), (to_regclass('leaf_worker'), 'worker_id'),"
        " (to_regclass('leaf_meta'), 'only_row'), (to_regclass('leaf_event'), 'event_id')) AS wanted (home, named)"
        " JOIN pg_class c ON c.oid = home"
        " JOIN pg_attribute a ON a.attrelid = home AND a.attname = named AND a.attnum > 0"
        " WHERE NOT EXISTS (SELECT FROM pg_index i WHERE i.indrelid = home AND i.indisunique AND i.indisvalid"
        " AND i.indpred IS NULL AND i.indnkeyatts = 1 AND i.indkey[0] = a.attnum)"
        // As a table that was put back alone.
        " UNION ALL SELECT 'numbers of ' || c.relname, format('ALTER TABLE %s ALTER event_id SET NOT NULL;"
        " ALTER TABLE %s ALTER event_id ADD GENERATED ALWAYS AS IDENTITY;"
        " SELECT setval(pg_get_serial_sequence(%L, ''event_id''), coalesce(max(event_id), 0) + 1, false) FROM %s;',"
        " c.oid::regclass, c.oid::regclass, c.oid::regclass, c.oid::regclass)"
        " FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE a.attrelid = to_regclass('leaf_event')"
        " AND attname = 'event_id' AND attidentity = '' AND NOT atthasdef ORDER BY 1",
    .functions_there = "SELECT proname || '/' || pronargs FROM pg_proc p JOIN pg_class c ON relnamespace = pronamespace"
                       " WHERE c.oid = to_regclass('leaf_meta')",
    .drop_event_triggers = R"(DROP TRIGGER IF EXISTS leaf_event_kept ON leaf.leaf_event;
DROP TRIGGER IF EXISTS leaf_alloc_added ON leaf.leaf_alloc;
DROP TRIGGER IF EXISTS leaf_alloc_changed ON leaf.leaf_alloc;
DROP TRIGGER IF EXISTS leaf_worker_freed ON leaf.leaf_worker;
)",
    .table_faults = table_faults,
    .schema_exists = nullptr,  // see find_schema
    .schema =
        "SELECT schema_version, deployment,"
        " (SELECT bool_and(relpersistence = 'p') FROM pg_class WHERE oid IN (" TABLES
        "))::integer,"
        // Inside of the brackets a column that the table lacks means the one outside.
        " (SELECT min_reader FROM leaf_meta LIMIT 1), (SELECT min_release FROM leaf_meta LIMIT 1),"
        " (SELECT bool_and(relkind = 'r' AND NOT relhasrules AND NOT relhassubclass AND NOT row_security_active(oid))"
        " FROM pg_class WHERE oid IN (" ALL_TABLES "))::integer"
        " FROM leaf_meta, (SELECT NULL::integer AS min_reader, NULL::text AS min_release) AS before",
    .set_schema_version = "UPDATE leaf_meta SET schema_version = $1::integer",
    // Whoever may write nothing else may write this, but nobody to a standby.
    .confirm =
        "SELECT CASE WHEN NOT pg_is_in_recovery()"
        " THEN pg_logical_emit_message(true, 'leafctl', 'confirm')::text END",
    .raise_minimum_reader =
        "UPDATE leaf_meta SET min_reader = $1::integer, min_release = $2 WHERE min_reader < $1::integer",
    .identity = "SELECT deployment, " SERVER " FROM leaf_meta",
    .begin_deployment = "UPDATE leaf_meta SET deployment = $2::uuid WHERE deployment = $1::uuid"
                        " AND " MAY_CHANGE("leaf_meta") " RETURNING deployment",
    .note_deployment =
        "INSERT INTO leaf_event (event, detail) VALUES ('deployment', concat($1::text, ' to ', $2::text))",
    .runtime_grants = runtime_grants,
    .runtime_role = runtime_role,
    .runtime_excess = runtime_excess,
    .foreign_objects = foreign_objects,
    .lock_tables = lock_tables,
    .refuse_foreign_objects = refuse_foreign_objects,
    .schema_creators = schema_creators,
    .schema_owners = schema_owners,
    .functions = functions,
    .schema_named = "SELECT quote_ident(nspname), nspname FROM pg_namespace"
        " WHERE CASE WHEN $2::integer = 1 THEN oid = to_regnamespace($1::text) ELSE nspname::text = $1::text END",
    .layout_text = "SELECT layout FROM leaf_meta",
    // Of an owner who is trusted, for anybody may make what looks like these; also those that name a schema of before,
    // where there is no store now. Names are in two pieces, lest they be led by the schema's. LIMIT tells the planner that
    // leaf_meta has one row: for hundreds it would compile all this first.
    .functions_found =
        R"(SELECT n.nspname, made[1], made[2], made[3], (strpos(p.prosrc, meta.deployment::text) > 0)::integer,
 meta.layout, meta.min_reader, (pg_has_role(me.oid, o.oid, 'MEMBER') AND (o.rolsuper OR o.oid = me.oid OR NOT me.rolsuper))::integer,
 CASE WHEN n.oid <> c.relnamespace THEN
  (SELECT string_agg(DISTINCT coalesce(quote_ident(r.rolname), 'PUBLIC'), ', ')
   FROM aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) AS g LEFT JOIN pg_roles r ON r.oid = g.grantee
   WHERE g.privilege_type = 'CREATE' AND g.grantee <> n.nspowner
    AND (g.grantee = 0 OR NOT r.rolsuper AND r.oid <> c.relowner AND r.oid <> o.oid AND r.rolname <> 'pg_database_owner')) END,
 (SELECT string_agg(format('%s of role %L', f.oid::regprocedure, fo.rolname), ', ' ORDER BY f.oid)
  FROM pg_proc f JOIN pg_roles fo ON fo.oid = f.proowner
  WHERE f.pronamespace = n.oid AND f.proname = ANY ($2::name[])
   AND (f.proowner <> o.oid AND f.proowner <> c.relowner AND NOT fo.rolsuper OR strpos(f.prosrc, E'\n-- leaf functions ') <> 1)),
 CASE WHEN n.oid <> c.relnamespace THEN
  (SELECT quote_ident(r.rolname) FROM pg_roles r WHERE NOT r.rolsuper AND r.oid <> c.relowner AND r.oid <> o.oid
   AND r.oid =)" SCHEMA_OWNER R"() END, quote_ident(o.rolname), away::integer
 FROM (SELECT deployment, layout, min_reader FROM leaf_meta LIMIT 1) AS meta
 JOIN pg_class c ON c.oid = 'leaf_meta'::regclass JOIN pg_roles me ON me.rolname = current_user
 JOIN pg_proc p ON p.prorettype = 'bigint'::regtype AND p.pronargs = 2 AND pg_has_role(p.proowner, c.relowner, 'MEMBER')
 JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_roles o ON o.oid = p.proowner
 CROSS JOIN LATERAL (SELECT strpos(p.prosrc, ' UPDATE ' || $1::text || 'leaf' || '_alloc AS t SET ') = 0) AS moved (away)
 CROSS JOIN LATERAL regexp_match(p.prosrc,
  E'^\n-- leaf functions ([0-9]{1,9}), schema ([0-9]{1,9}), layout ([^[:space:]]+)\n') AS made
 CROSS JOIN LATERAL regexp_match(p.prosrc, ' UPDATE (.+?)leaf' || '_alloc AS t SET ') AS place
 WHERE made IS NOT NULL AND (NOT away OR strpos(p.prosrc, meta.deployment::text) > 0 AND NOT EXISTS (
  SELECT FROM pg_namespace h JOIN pg_class t ON t.relnamespace = h.oid AND t.relname = 'leaf' || '_meta'
  WHERE place[1] IN (h.nspname || '.', quote_ident(h.nspname) || '.')))
 ORDER BY 1)",
    .clock = "SELECT " CLOCK,
    .guard_steps = "SELECT guard_steps FROM leaf_meta",
    .set_guard_steps = "UPDATE leaf_meta SET guard_steps = $1::integer WHERE " MAY_CHANGE("leaf_meta"),
    // Any change of the row notices another server. Workers that are out of sight are not lost.
    .leases_from = "WITH noticed AS (UPDATE leaf_meta SET layout_fixed = layout_fixed"
                   " WHERE NOT " SAME_LESSOR
                   " AND NOT row_security_active('leaf_worker'::regclass::oid)"
                   " RETURNING leases_from)"
                   " SELECT coalesce((SELECT leases_from FROM noticed), leases_from), " CLOCK
                   " FROM leaf_meta",
    .failover = "SELECT " SERVER ", (" SAME_LESSOR ")::integer, leases_from, " CLOCK " FROM leaf_meta",
    .failover_tags =
        "SELECT biz_tag, (granted_by IS DISTINCT FROM $1)::integer, granted_by, left_out_from, left_out_to,"
        " (removed_at IS NOT NULL)::integer FROM leaf_alloc"
        " WHERE granted_by IS DISTINCT FROM $1 OR (removed_at IS NULL AND left_out_to > left_out_from)"
        " ORDER BY biz_tag",
    .settle_failover =
        "SELECT biz_tag, room::integer, s.left_out_from, s.left_out_to"
        " FROM leaf_settle('leaf_meta'::regclass::oid, $1::text, $2::integer = 1, $3::integer = 1) AS s"
        " JOIN leaf_alloc ON biz_tag = tag"
        " WHERE removed_at IS NULL ORDER BY biz_tag",

    .grant_exactly =
        "UPDATE leaf_alloc SET max_id = max_id + $2::bigint, last_grant = $2::bigint, update_time = now()"
        " WHERE biz_tag = $1 AND removed_at IS NULL"
        " AND $2::bigint - 1 <= coalesce(id_limit, " NO_LIMIT
        ") - max_id AND " ABOVE_FLOOR
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
        ") AND " ABOVE_FLOOR
        " RETURNING " GRANT,

    .add_tag =
        "INSERT INTO leaf_alloc AS t (biz_tag, step, start_id, max_id, id_limit, description)"
        " SELECT $1, $2::integer, coalesce($3::bigint, 1), coalesce($3::bigint, 1), $4::bigint, $5"
        " WHERE " MAY_CHANGE("leaf_alloc") " AND ($3::bigint IS NOT NULL OR "
        "leaf_require_whole('leaf_meta'::regclass::oid))"
        " ON CONFLICT (biz_tag) DO UPDATE SET step = excluded.step,"
        " start_id = greatest(t.max_id, excluded.max_id), max_id = greatest(t.max_id, excluded.max_id),"
        " id_limit = excluded.id_limit, description = excluded.description, last_grant = 0,"
        " changed_at = now(), incarnation = gen_random_uuid(), removed_at = NULL"
        " WHERE t.removed_at IS NOT NULL"
        " AND ($3::bigint IS NULL OR $3::bigint >= t.max_id)"
        " AND ($4::bigint IS NULL OR $4::bigint >= t.max_id - $6::integer)"
        " RETURNING " TAG,
    .tags_named =
        "SELECT " TAG ", (removed_at IS NOT NULL)::integer FROM leaf_alloc"
        " WHERE biz_tag = ANY (ARRAY(SELECT jsonb_array_elements_text($1::jsonb))::varchar[])",
    .add_tags =
        "INSERT INTO leaf_alloc AS t (biz_tag, step, start_id, max_id, id_limit, description)"
        " SELECT tag, step, start, start, id_limit, description FROM jsonb_to_recordset($1::jsonb)"
        " AS new (tag varchar, step integer, start bigint, id_limit bigint, description varchar)"
        " WHERE " MAY_CHANGE("leaf_alloc") " ORDER BY tag COLLATE \"C\""
        " ON CONFLICT (biz_tag) DO UPDATE SET step = excluded.step,"
        " start_id = greatest(t.max_id, excluded.max_id), max_id = greatest(t.max_id, excluded.max_id),"
        " id_limit = excluded.id_limit, description = excluded.description, last_grant = 0,"
        " changed_at = now(), incarnation = gen_random_uuid(), removed_at = NULL"
        " WHERE t.removed_at IS NOT NULL AND excluded.max_id >= t.max_id"
        " AND (excluded.id_limit IS NULL OR excluded.id_limit >= t.max_id - 1)"
        " RETURNING " TAG,
    // The rows are locked in order before one is changed: a join goes its own way.
    .update_tags =
        "WITH new AS MATERIALIZED (SELECT * FROM jsonb_to_recordset($1::jsonb)"
        " AS one (tag varchar, step integer, id_limit bigint, description varchar, raise_to bigint)),"
        " locked AS MATERIALIZED (SELECT biz_tag FROM leaf_alloc"
        " WHERE biz_tag = ANY (ARRAY(SELECT tag FROM new)) AND " MAY_CHANGE("leaf_alloc")
        " ORDER BY biz_tag COLLATE \"C\" FOR NO KEY UPDATE)"
        " UPDATE leaf_alloc SET step = coalesce(new.step, leaf_alloc.step),"
        " id_limit = coalesce(new.id_limit, leaf_alloc.id_limit),"
        " description = coalesce(new.description, leaf_alloc.description),"
        " max_id = greatest(max_id, raise_to), changed_at = now()"
        " FROM new WHERE (SELECT count(*) FROM locked) >= 0 AND biz_tag = tag AND removed_at IS NULL"
        " AND ((new.id_limit IS NULL AND raise_to IS NULL)"
        " OR greatest(max_id, raise_to) - 1 <= coalesce(new.id_limit, leaf_alloc.id_limit, " NO_LIMIT "))"
        " RETURNING " CHANGED_TAG,
    .bury_tags =
        "WITH new AS MATERIALIZED (SELECT * FROM jsonb_to_recordset($1::jsonb)"
        " AS one (tag varchar, raise_to bigint, is_added integer)),"
        " locked AS MATERIALIZED (SELECT biz_tag FROM leaf_alloc"
        " WHERE biz_tag = ANY (ARRAY(SELECT tag FROM new)) AND " MAY_CHANGE("leaf_alloc")
        " ORDER BY biz_tag COLLATE \"C\" FOR NO KEY UPDATE)"
        " UPDATE leaf_alloc SET max_id = greatest(max_id, raise_to),"
        " removed_at = coalesce(removed_at, now()), changed_at = now()"
        " FROM new WHERE (SELECT count(*) FROM locked) >= 0 AND biz_tag = tag"
        " AND (removed_at IS NOT NULL OR is_added = 1)"
        " RETURNING " CHANGED_TAG,
    .tags = "SELECT " TAG " FROM leaf_alloc WHERE removed_at IS NULL",
    .all_tags = "SELECT " TAG ", (removed_at IS NOT NULL)::integer FROM leaf_alloc",
    .tag = "SELECT " TAG ", (removed_at IS NOT NULL)::integer, leaf_meta.deployment"
           " FROM leaf_meta LEFT JOIN leaf_alloc ON biz_tag = $1",
    .similar_tags =
        "SELECT biz_tag FROM leaf_alloc WHERE removed_at IS NULL"
        " AND (abs(length(biz_tag) - length($1::varchar)) <= $2::integer"
        " OR left(biz_tag, length($1::varchar)) = $1::varchar) LIMIT $3::bigint",
    .update_tag =
        "UPDATE leaf_alloc SET step = coalesce($2::integer, step),"
        " id_limit = CASE WHEN $6::integer = 1 THEN NULL ELSE coalesce($3::bigint, id_limit) END,"
        " description = coalesce($4, description), max_id = greatest(max_id, $5::bigint), changed_at = now()"
        " WHERE biz_tag = $1 AND removed_at IS NULL AND " MAY_CHANGE("leaf_alloc")
        " AND (($3::bigint IS NULL AND $5::bigint IS NULL)"
        " OR greatest(max_id, $5::bigint) - 1 <="
        " coalesce(CASE WHEN $6::integer = 1 THEN NULL ELSE coalesce($3::bigint, id_limit) END, " NO_LIMIT
        "))"
        " RETURNING " TAG,
    .remove_tag =
        "UPDATE leaf_alloc SET removed_at = coalesce(removed_at, now()), changed_at = now()"
        " WHERE biz_tag = $1 AND (removed_at IS NULL OR $2::integer = 1)"
        " AND " MAY_CHANGE("leaf_alloc") " RETURNING biz_tag",

    .events =
        "SELECT " MS("happened_at") ", who, program, event, biz_tag, worker_id, detail"
        " FROM leaf_event WHERE ($1::varchar IS NULL OR biz_tag = $1::varchar)"
        " AND happened_at >= to_timestamp($2::bigint / 1000.0) ORDER BY event_id",

    .layout = "SELECT layout, first_worker, last_worker, layout_fixed::integer, deployment FROM leaf_meta",
    .set_layout = "UPDATE leaf_meta SET layout = $1 WHERE (layout = $1 OR NOT layout_fixed)"
                  " AND greatest(first_worker, last_worker) <= $2::bigint"
                  " AND " MAY_CHANGE("leaf_meta") " RETURNING layout",
    // A trigger looks for leases.
    .set_workers = "UPDATE leaf_meta SET first_worker = $1::integer, last_worker = $2::integer"
                   " WHERE layout = $3 AND $4::bigint IS NOT NULL"
                   " AND " MAY_CHANGE("leaf_meta") " RETURNING first_worker",
    .acquire_held = "UPDATE leaf_worker w SET " TAKE " WHERE " MAY_LEASE
                    " AND w.worker_id = (SELECT c.worker_id FROM leaf_worker c"
                    " WHERE (c.window_end <= " NOW " AND (c.owner = $1::varchar OR c.owner IS NULL)"
                    " OR c.owner = $1::varchar AND c.token IS NULL) AND c.worker_id <= $6::bigint"
                    " AND " IN_RANGE("c.worker_id")
                    " ORDER BY c.owner IS NULL, c.worker_id LIMIT 1 FOR UPDATE SKIP LOCKED)"
                    " RETURNING " LEASE("window_end - $3::bigint"),
    .acquire_new =
        "WITH fresh AS (UPDATE leaf_meta SET next_worker = next_worker + 1, layout_fixed = true"
        " WHERE next_worker <= least($6::bigint, last_worker) AND " MAY_LEASE
        " RETURNING next_worker - 1 AS worker_id)"
        " INSERT INTO leaf_worker " WORKER_COLUMNS " SELECT worker_id, " NEW_WORKER
        " FROM fresh ON CONFLICT (worker_id) DO NOTHING"
        " RETURNING " LEASE("window_end - $3::bigint"),
    .has_new = "SELECT (next_worker <= least($1::bigint, last_worker) AND " KNOWS_LEASES("least($2::bigint, " CLOCK ")") ")::integer FROM leaf_meta",
    .acquire_silent = "UPDATE leaf_worker w SET " TAKE " WHERE " MAY_LEASE
                      " AND w.worker_id = (SELECT c.worker_id FROM leaf_worker c"
                      " WHERE c.window_end <= " NOW " AND c.renewed_at <= " CLOCK
                      " - $12::bigint AND c.worker_id <= $6::bigint AND " IN_RANGE("c.worker_id")
                      " ORDER BY c.renewed_at, c.worker_id LIMIT 1 FOR UPDATE SKIP LOCKED)"
                      " RETURNING " LEASE("window_end - $3::bigint"),
    .acquire_this =
        "WITH fixed AS (UPDATE leaf_meta SET layout_fixed = true WHERE NOT layout_fixed AND " MAY_LEASE
        ")"
        " INSERT INTO leaf_worker AS w " WORKER_COLUMNS " SELECT $6::integer, " NEW_WORKER
        " WHERE " MAY_LEASE " ON CONFLICT (worker_id) DO UPDATE SET " TAKE " WHERE w.window_end <= " NOW
        " AND (w.owner IS NULL OR w.owner = $1::varchar OR w.renewed_at <= " CLOCK
        " - $12::bigint)"
        " OR w.owner = $1::varchar AND w.token IS NULL"
        " RETURNING " LEASE("window_end - $3::bigint"),
    .touch_worker = "UPDATE leaf_worker SET clock_offset = $1::bigint WHERE worker_id ="
                    " (SELECT worker_id FROM leaf_worker ORDER BY renewed_at DESC LIMIT 1)"
                    " RETURNING worker_id, (clock_offset = $1::bigint)::integer",
    // What is over may have been leased to another by a commit that was lost. What lies before held_after was
    // leased to others, whoever has put this token there.
    .renew = "UPDATE leaf_worker SET window_end = greatest(window_end, greatest($3::bigint, " NOW
             ") + $4::bigint),"
             " renewed_at = " CLOCK ", clock_offset = $5::bigint - " CLOCK
             " WHERE worker_id = $1::integer AND token = " HASH
             " AND ($3::bigint > " CLOCK " OR " KNOWS_LEASES(NOW) ")"
             " AND " CLOCK " BETWEEN $6::bigint AND $7::bigint AND renewed_at <= $7::bigint"
             " AND greatest($3::bigint, " NOW ") BETWEEN held_after AND $8::bigint"
             " RETURNING " LEASE("greatest($3::bigint, " NOW ")"),
    .owner_clocks = "SELECT " CLOCK ", max(renewed_at), max(CASE WHEN token IS NULL THEN window_end END)"
                    " FROM leaf_worker WHERE owner = $1::varchar AND $2::bigint IS NOT NULL",
    .lease_clocks = "SELECT " CLOCK ", renewed_at, NULL::bigint,"
                    " CASE WHEN least(" CLOCK ", $3::bigint) < held_after THEN held_after END FROM leaf_worker"
                    " WHERE worker_id = $1::integer AND token = " HASH,
    // The key is the proof, and a trigger makes it NULL.
    .give_up =
        "UPDATE leaf_worker SET window_end = greatest(held_after, least(window_end, $3::bigint)), token = $2::uuid,"
        " owner = CASE $4::integer WHEN 1 THEN NULL ELSE owner END"
        " WHERE worker_id = $1::integer AND token = " HASH " RETURNING worker_id",
    .give_up_others =
        "UPDATE leaf_worker SET window_end = greatest(held_after, window_end - $4::bigint), token = $2::uuid"
        " WHERE owner = $1::varchar AND token = " HASH " AND worker_id <> $3::integer RETURNING worker_id",
    .workers =
        "SELECT worker_id, owner, (token IS NOT NULL)::integer, window_end, renewed_at, clock_offset,"
        " " CLOCK " - renewed_at, " IN_RANGE("worker_id") "::integer FROM leaf_worker WHERE $1::bigint IS NOT NULL ORDER BY worker_id",
    .recycle =
        FREE
        " WHERE worker_id = $1::integer AND owner IS NOT NULL"
        " AND ($3::integer = 1 OR window_end <= least($2::bigint, " CLOCK
        "))"
        " AND " MAY_CHANGE("leaf_worker") " RETURNING worker_id",
    .release =
        FREE
        " WHERE owner = $1 AND ($2::bigint IS NULL OR worker_id = $2::bigint)"
        " AND " MAY_CHANGE("leaf_worker") " RETURNING worker_id",
    .recycle_silent =
        FREE
        " WHERE owner IS NOT NULL AND window_end <= least($1::bigint, " CLOCK ") AND renewed_at <= " CLOCK
        " - $2::bigint AND " MAY_CHANGE("leaf_worker") " RETURNING worker_id",
};

// The only statement that looks along the search_path: whatever lies there, nothing in it is an operator, a
// function or a type of others. The name is looked up before the path is set.
const char* const find_schema =
    "SELECT pg_catalog.quote_ident(n.nspname), pg_catalog.quote_ident(pg_catalog.current_schema()),"
    " (c.relkind OPERATOR(pg_catalog.=) ANY ('{r,p}'::pg_catalog.\"char\"[]))::integer,"
    " (SELECT pg_catalog.min(pg_catalog.quote_ident(rn.nspname)) FROM pg_catalog.pg_class r"
    " JOIN pg_catalog.pg_namespace rn ON rn.oid OPERATOR(pg_catalog.=) r.relnamespace"
    " WHERE r.relname OPERATOR(pg_catalog.=) 'leaf_meta'"
    " AND r.relkind OPERATOR(pg_catalog.=) ANY ('{r,p,v,m,f}'::pg_catalog.\"char\"[])"
    " AND rn.nspname OPERATOR(pg_catalog.=) ANY (pg_catalog.current_schemas(false))"
    " AND r.relowner OPERATOR(pg_catalog.<>) c.relowner"
    " AND pg_catalog.pg_get_userbyid(c.relowner) OPERATOR(pg_catalog.<>) current_user),"
    " CASE WHEN $1::boolean OR c.oid IS NOT NULL AND pg_catalog.pg_backend_pid() OPERATOR(pg_catalog.=) "
    "$2::integer"
    " THEN pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', $1::boolean) END"
    " FROM (SELECT pg_catalog.to_regclass(pg_catalog.concat($3::pg_catalog.text, "
    "'leaf_meta'))::pg_catalog.oid"
    " OFFSET 0) AS found (oid)"
    " LEFT JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) found.oid"
    " LEFT JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace";

const char* const pin = "SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true)";

}  // namespace leaf::store::postgresql
