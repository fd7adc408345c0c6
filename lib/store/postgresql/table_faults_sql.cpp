#include "store/postgresql/table_faults_sql.hpp"

#include "store/postgresql/sql_pieces.hpp"

namespace leaf::store::postgresql {

// The rows of a child have no triggers. A table that another relation took the place of still has its own, by
// whose names it is found. No statement deletes rows that grants need, so rules on DELETE are in nobody's
// way, and those that only add to a change let grants pass.
const char* const table_faults =
    "WITH made AS (SELECT oid AS home, oid::regclass AS name, relname, relkind, relnamespace, relowner,"
    " relrowsecurity"
    " FROM pg_class WHERE oid IN (" ALL_TABLES
    "))"
    " SELECT what, remedy, stops::integer FROM ("
    "SELECT 0 AS rank, format('%s is %s', name, CASE relkind WHEN 'p' THEN 'a partitioned table'"
    " WHEN 'v' THEN 'a view' WHEN 'm' THEN 'a materialized view' WHEN 'f' THEN 'a foreign table'"
    " ELSE 'no table' END) AS what,"
    " (SELECT format('ALTER TABLE %s RENAME TO %I; ALTER TABLE %s RENAME TO %I', name,"
    " made.relname || '_replaced', min(former.oid)::regclass, made.relname) FROM pg_class former"
    " WHERE former.relnamespace = made.relnamespace AND former.relkind = 'r' AND EXISTS (SELECT FROM "
    "pg_trigger"
    " WHERE tgrelid = former.oid AND starts_with(tgname::text, made.relname || '_'))"
    " HAVING count(*) = 1) AS remedy, true AS stops"
    " FROM made WHERE relkind <> 'r'"
    " UNION ALL SELECT 1, format('%s inherits from %s', inhrelid::regclass, name),"
    " format('ALTER TABLE %s NO INHERIT %s', inhrelid::regclass, name), true"
    " FROM made JOIN pg_inherits ON inhparent = home WHERE relkind = 'r'"
    " UNION ALL SELECT 2, format('%s has a rule %I', name, rulename),"
    " format('DROP RULE %I ON %s', rulename, name), is_instead AND ev_type = '2'"
    " FROM made JOIN pg_rewrite ON ev_class = home"
    " WHERE relkind = 'r' AND ev_type IN ('2', '3') AND ev_enabled IN ('O', 'A')"
    " UNION ALL SELECT 3, format('%s has row-level security', name),"
    " format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', name),"
    " row_security_active(home) AND has_table_privilege(home, 'SELECT')"
    " FROM made WHERE relkind = 'r' AND relrowsecurity"
    " UNION ALL SELECT 4, format('%s belongs to role %I, but what writes there to role %I', name, "
    "pg_get_userbyid(relowner),"
    " pg_get_userbyid(proowner)), format('ALTER FUNCTION %s OWNER TO %I', p.oid::regprocedure,"
    " pg_get_userbyid(relowner)), false"
    " FROM made JOIN pg_proc p ON p.oid = to_regprocedure('leaf_record_event()') AND proowner <> relowner"
    " WHERE home = to_regclass('leaf_event')"
    ") AS faults ORDER BY rank, what";

}  // namespace leaf::store::postgresql
