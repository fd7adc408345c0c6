#include "store/postgresql/rights_sql.hpp"

#include "store/postgresql/sql_pieces.hpp"

namespace leaf::store::postgresql {

const char* const runtime_grants = R"(SET LOCAL search_path = pg_catalog, pg_temp;
REVOKE ALL ON {schema}leaf_alloc, {schema}leaf_worker, {schema}leaf_meta, {schema}leaf_event FROM {role};
GRANT SELECT ON {schema}leaf_alloc, {schema}leaf_worker, {schema}leaf_meta TO {role};
GRANT UPDATE (max_id, last_grant, update_time) ON {schema}leaf_alloc TO {role};
GRANT INSERT, UPDATE (owner, token, window_end, held_after, renewed_at, clock_offset)
  ON {schema}leaf_worker TO {role};
GRANT UPDATE (next_worker, layout_fixed) ON {schema}leaf_meta TO {role};
GRANT EXECUTE ON FUNCTION {schema}leaf_server(oid), {schema}leaf_server(oid, oid),
  {schema}leaf_worker_table(oid), {schema}leaf_require_durable(oid) TO {role};
DO $way$
DECLARE
  home regnamespace := (SELECT relnamespace FROM pg_class WHERE oid = (SELECT tableoid FROM {schema}leaf_meta));
  -- What leaf_alloc_guard() asks as the role that draws.
  refused text := (SELECT string_agg(asked::text, ', ') FROM unnest(ARRAY[to_regprocedure('pg_walfile_name(pg_lsn)'),
                     to_regprocedure('pg_current_wal_insert_lsn()'), to_regprocedure('pg_relation_filepath(regclass)'),
                     to_regprocedure('pg_postmaster_start_time()')]) AS asked
                   WHERE NOT has_function_privilege({role_text}, asked, 'EXECUTE'));
  owned oid := (SELECT nspowner FROM pg_namespace WHERE oid = home);
  owner name := (SELECT pg_get_userbyid(relowner) FROM pg_class WHERE oid = (SELECT tableoid FROM {schema}leaf_meta));
BEGIN
  -- It drops what others have made there, and has other functions and triggers run in its place.
  IF pg_has_role({role_text}, owned, 'MEMBER') THEN
    RAISE EXCEPTION 'role ''%'' can do more than it needs: it owns schema %, or is a member of the owner', {role_text}, home
      USING ERRCODE = 'LF009', HINT = format('as a superuser, run ''ALTER SCHEMA %s OWNER TO %I''', home, owner);
  END IF;
  IF refused IS NOT NULL THEN
    RAISE EXCEPTION 'role ''%'' may not ask which server this is: it would draw no ID', {role_text}
      USING ERRCODE = 'LF009', HINT = format('as a superuser, run ''GRANT EXECUTE ON FUNCTION %s TO %I''', refused, {role_text});
  END IF;
  IF NOT has_schema_privilege({role_text}, home::oid, 'USAGE') THEN
    EXECUTE format('GRANT USAGE ON SCHEMA %s TO %I', home, {role_text});
  END IF;
  IF NOT has_database_privilege({role_text}, current_database(), 'CONNECT') THEN
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), {role_text});
  END IF;
END
$way$;
)";

const char* const runtime_role =
    "SELECT (SELECT count(*) FROM pg_roles WHERE rolname = $1::name),"
    " (SELECT coalesce(bool_or(pg_has_role(r.oid, c.relowner, 'MEMBER')), false)::integer"
    " FROM pg_roles r, pg_class c WHERE r.rolname = $1::name"
    " AND c.oid IN ('leaf_alloc'::regclass, 'leaf_worker'::regclass, 'leaf_meta'::regclass))";

const char* const runtime_excess =
    "SELECT string_agg(what, ', ' ORDER BY what) FROM ("
    " SELECT right_ || ' on ' || relname AS what FROM pg_class c,"
    " unnest(ARRAY['INSERT', 'DELETE', 'TRUNCATE', 'TRIGGER']) AS right_"
    " WHERE c.oid IN ('leaf_alloc'::regclass, 'leaf_worker'::regclass, 'leaf_meta'::regclass,"
    " 'leaf_event'::regclass) AND has_table_privilege($1::name, c.oid, right_)"
    " AND (c.oid, right_) <> ('leaf_worker'::regclass::oid, 'INSERT')"
    " UNION ALL SELECT 'UPDATE of ' || relname || '.' || attname FROM pg_class c"
    " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
    " WHERE c.oid IN ('leaf_alloc'::regclass, 'leaf_worker'::regclass, 'leaf_meta'::regclass,"
    " 'leaf_event'::regclass) AND has_column_privilege($1::name, c.oid, a.attnum, 'UPDATE') AND NOT EXISTS "
    "(SELECT FROM " RUNTIME_COLUMNS " WHERE found = c.oid AND attname = ANY (written))) AS excess";

const char* const schema_creators =
    "SELECT DISTINCT coalesce(quote_ident(r.rolname), 'PUBLIC'), n.oid::regnamespace FROM pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace"
    " CROSS JOIN LATERAL aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) AS g"
    " LEFT JOIN pg_roles r ON r.oid = g.grantee"
    " WHERE c.oid = to_regclass('leaf_meta') AND g.privilege_type = 'CREATE' AND g.grantee <> n.nspowner"
    " AND (g.grantee = 0 OR NOT r.rolsuper AND r.oid <> c.relowner AND r.rolname <> 'pg_database_owner')"
    " ORDER BY 1";

const char* const schema_owners =
    "SELECT quote_ident(r.rolname), n.oid::regnamespace, quote_ident(pg_get_userbyid(c.relowner)) FROM "
    "pg_class c"
    " JOIN pg_namespace n ON n.oid = c.relnamespace"
    " JOIN pg_roles r ON NOT r.rolsuper AND NOT pg_has_role(r.oid, c.relowner, 'MEMBER')"
    " AND pg_has_role(r.oid, n.nspowner, 'MEMBER')"
    " WHERE c.oid = to_regclass('leaf_meta') AND (r.oid = " SCHEMA_OWNER
    " OR has_column_privilege(r.oid, to_regclass('leaf_alloc'), 'max_id', 'UPDATE')) ORDER BY 1";

}  // namespace leaf::store::postgresql
