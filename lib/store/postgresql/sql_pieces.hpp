#pragma once

// Pieces of SQL that more than one file puts into its statements. They are
// literals, so that the compiler joins them.

#define NO_LIMIT "9223372036854775806"
// The number is arbitrary ("leaf" in ASCII), but the same in every version.
#define MIGRATION_LOCK "1818583398"
// The types of arguments are exact, here and everywhere: who may create functions beside these could make one
// that fits better.
#define SERVER "leaf_server('leaf_meta'::regclass::oid)"
// Whether it is the server that leased last, with the table of workers of then.
#define SAME_LESSOR                          \
  "(granted_by IS NOT DISTINCT FROM " SERVER \
  " AND worker_table IS NOT DISTINCT FROM leaf_worker_table('leaf_meta'::regclass::oid))"
#define TABLES "to_regclass('leaf_alloc'), to_regclass('leaf_worker'), to_regclass('leaf_meta')"
// And what grants do without.
#define ALL_TABLES TABLES ", to_regclass('leaf_event')"
// Of the namespace n. Since PostgreSQL 15 whoever owns the database owns schema public, by way of this role.
#define SCHEMA_OWNER                                          \
  "CASE pg_get_userbyid(n.nspowner) WHEN 'pg_database_owner'" \
  " THEN (SELECT datdba FROM pg_database WHERE datname = current_database()) ELSE n.nspowner END"
// What a runtime role may write; the same as in runtime_grants.
#define RUNTIME_COLUMNS                                                                \
  "(VALUES (to_regclass('leaf_alloc'), ARRAY['max_id', 'last_grant', 'update_time'])," \
  " (to_regclass('leaf_worker'), ARRAY['owner', 'token', 'window_end', 'held_after',"  \
  " 'renewed_at', 'clock_offset']),"                                                   \
  " (to_regclass('leaf_meta'), ARRAY['next_worker', 'layout_fixed'])) AS runtime (found, written)"
