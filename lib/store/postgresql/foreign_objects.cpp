#include "store/postgresql/foreign_objects.hpp"

// Roles whose code the present one runs anyway: itself, superusers, and those that it is a member of. A superuser is a
// member of all, and trusts none of them.
#define FOREIGN_ROLES \
  "SELECT r.oid, r.rolname FROM pg_roles r JOIN pg_roles me ON me.rolname = current_user" \
  " WHERE r.oid <> me.oid AND NOT r.rolsuper AND (me.rolsuper OR NOT pg_has_role(me.oid, r.oid, 'MEMBER'))"
#define HOME "SELECT oid FROM pg_namespace WHERE quote_ident(nspname) || '.' = 'leaf.'"
#define NAMES "('leaf_alloc', 'leaf_worker', 'leaf_meta')"

// Expressions are any that the owner of a table likes, so in a foreign one only constants and what Leaf's users write
// are left. Names that are printed without a schema are PostgreSQL's own.
#define PLAIN \
  "'^(now\\(\\)|CURRENT_TIMESTAMP|LOCALTIMESTAMP|nextval\\(''[^'']*''::regclass\\)|(''[^'']*''|-?[0-9.]+|NULL" \
  "|true|false)(::[a-z ]+(\\([0-9,]+\\))?)?)$'"

#define FOREIGN_OBJECTS \
  "\nWITH RECURSIVE foreigner AS (" FOREIGN_ROLES \
  "\n), home AS (" HOME \
  "\n), tables AS (" \
  "SELECT c.oid, c.relowner, c.relkind, c.relacl FROM pg_class c JOIN home ON home.oid = c.relnamespace" \
  " WHERE c.relname IN " NAMES \
  " UNION SELECT c.oid, c.relowner, c.relkind, c.relacl FROM tables t" \
  " JOIN pg_inherits i ON i.inhparent = t.oid JOIN pg_class c ON c.oid = i.inhrelid" \
  "\n), owned AS (" \
  "SELECT 'pg_proc'::regclass AS class, oid, proowner AS owner FROM pg_proc" \
  "\n UNION ALL SELECT 'pg_type'::regclass, oid, typowner FROM pg_type" \
  "\n UNION ALL SELECT 'pg_operator'::regclass, oid, oprowner FROM pg_operator" \
  "\n UNION ALL SELECT 'pg_opclass'::regclass, oid, opcowner FROM pg_opclass" \
  "\n), attached AS (" \
  "SELECT 'pg_trigger'::regclass AS class, oid, tgrelid AS on_table, 'trigger ' || quote_ident(tgname) AS what," \
  " format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass) AS remedy, tgname LIKE 'leaf\\_%' AS is_own" \
  "\n FROM pg_trigger WHERE NOT tgisinternal" \
  "\n UNION ALL SELECT 'pg_rewrite'::regclass, oid, ev_class, 'rule ' || quote_ident(rulename)," \
  " format('DROP RULE %I ON %s', rulename, ev_class::regclass), false FROM pg_rewrite WHERE rulename <> '_RETURN'" \
  "\n UNION ALL SELECT 'pg_policy'::regclass, oid, polrelid, 'policy ' || quote_ident(polname)," \
  " format('DROP POLICY %I ON %s', polname, polrelid::regclass), false FROM pg_policy" \
  "\n UNION ALL SELECT 'pg_attrdef'::regclass, d.oid, adrelid," \
  " CASE attgenerated WHEN '' THEN 'default' ELSE 'expression' END || ' of column ' || quote_ident(attname)," \
  " format('ALTER TABLE %s ALTER COLUMN %I DROP %s', adrelid::regclass, attname," \
  " CASE attgenerated WHEN '' THEN 'DEFAULT' ELSE 'EXPRESSION' END), attname = 'granted_by'" \
  "\n FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = adrelid AND a.attnum = adnum" \
  " WHERE attgenerated <> '' OR pg_get_expr(adbin, adrelid) !~ " PLAIN \
  "\n UNION ALL SELECT 'pg_constraint'::regclass, oid, conrelid, 'constraint ' || quote_ident(conname)," \
  " format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname), false" \
  "\n FROM pg_constraint WHERE contype IN ('c', 'x')" \
  "\n UNION ALL SELECT 'pg_class'::regclass, indexrelid, indrelid, 'index ' || quote_ident(relname)," \
  " format('DROP INDEX %s', indexrelid::regclass), false FROM pg_index JOIN pg_class c ON c.oid = indexrelid" \
  " WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)" \
  " AND (indexprs IS NOT NULL OR indpred IS NOT NULL OR EXISTS (SELECT FROM pg_depend d" \
  " WHERE d.classid = 'pg_class'::regclass AND d.objid = indexrelid AND d.refclassid = 'pg_opclass'::regclass))" \
  "\n UNION ALL SELECT 'pg_statistic_ext'::regclass, s.oid, stxrelid, 'statistics ' || quote_ident(stxname)," \
  " format('DROP STATISTICS %I.%I', nspname, stxname), false" \
  "\n FROM pg_statistic_ext s JOIN pg_namespace n ON n.oid = stxnamespace)" \
  "\n SELECT what, rolname, remedy FROM (" \
  /* Taken first, so that the rest is the owner's to drop; and not where they are a store that somebody set up. */ \
  "SELECT 0 AS rank, CASE relkind WHEN 'r' THEN 'table ' WHEN 'p' THEN 'table ' ELSE 'relation ' END" \
  " || t.oid::regclass AS what, f.rolname," \
  " CASE WHEN relkind IN ('r', 'p') AND NOT EXISTS (SELECT FROM pg_class m JOIN home ON m.relnamespace = home.oid" \
  " WHERE m.relname = 'leaf_meta') THEN format('ALTER TABLE %s OWNER TO CURRENT_USER', t.oid::regclass) END AS remedy" \
  "\n FROM tables t JOIN foreigner f ON f.oid = t.relowner" \
  "\n UNION ALL SELECT 1, a.what || ' on ' || on_table::regclass, coalesce(f.rolname, o.rolname)," \
  " CASE WHEN NOT (is_own AND EXISTS (SELECT FROM pg_class m JOIN home ON m.relnamespace = home.oid WHERE m.relname = 'leaf_meta')) THEN remedy END" \
  "\n FROM attached a JOIN tables t ON t.oid = on_table LEFT JOIN foreigner f ON f.oid = t.relowner" \
  " LEFT JOIN LATERAL (SELECT min(w.rolname::text) AS rolname FROM pg_depend d JOIN owned ON owned.class = d.refclassid" \
  " AND owned.oid = d.refobjid JOIN foreigner w ON w.oid = owned.owner" \
  " WHERE d.classid = a.class AND d.objid = a.oid) o ON true" \
  " WHERE f.oid IS NOT NULL OR o.rolname IS NOT NULL" \
  "\n UNION ALL SELECT 2, 'row-level security of ' || c.oid::regclass, f.rolname," \
  " format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', c.oid::regclass)" \
  "\n FROM pg_class c JOIN tables t ON t.oid = c.oid JOIN foreigner f ON f.oid = c.relowner WHERE c.relrowsecurity" \
  "\n UNION ALL SELECT 3, 'right TRIGGER on ' || t.oid::regclass, coalesce(f.rolname, 'PUBLIC')," \
  " format('REVOKE TRIGGER ON %s FROM %s CASCADE', t.oid::regclass, coalesce(quote_ident(f.rolname), 'PUBLIC'))" \
  "\n FROM tables t CROSS JOIN LATERAL aclexplode(t.relacl) g LEFT JOIN foreigner f ON f.oid = g.grantee" \
  " WHERE g.privilege_type = 'TRIGGER' AND (f.oid IS NOT NULL OR g.grantee = 0) AND g.grantee <> t.relowner" \
  "\n UNION ALL SELECT 4, 'function ' || p.oid::regprocedure, f.rolname, format('DROP ROUTINE %s', p.oid::regprocedure)" \
  "\n FROM pg_proc p JOIN home ON home.oid = p.pronamespace JOIN foreigner f ON f.oid = p.proowner" \
  " WHERE p.proname LIKE 'leaf\\_%'" \
  "\n UNION ALL SELECT 5, format('type %s of column %I of %s', format_type(a.atttypid, NULL), attname, t.oid::regclass)," \
  " f.rolname, NULL FROM tables t JOIN pg_attribute a ON a.attrelid = t.oid AND attnum > 0 AND NOT attisdropped" \
  " JOIN pg_type y ON y.oid = a.atttypid JOIN foreigner f ON f.oid = y.typowner" \
  ") AS found ORDER BY rank, what"

namespace leaf::store::postgresql {

const char* const foreign_objects = FOREIGN_OBJECTS;

const char* const lock_foreign_tables =
    "DO $lock$ DECLARE t regclass; BEGIN"
    " FOR t IN SELECT c.oid FROM pg_class c WHERE c.relnamespace IN (" HOME
    ") AND c.relkind IN ('r', 'p')"
    " AND c.relname IN " NAMES " AND c.relowner IN (SELECT oid FROM (" FOREIGN_ROLES
    ") AS f) LOOP"
    " EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', t); END LOOP; END $lock$;\n";

const char* const refuse_foreign_objects =
    "DO $foreign$ DECLARE found text; BEGIN"
    "\n SELECT string_agg(format('%s of role ''%s''', what, rolname), ', ') INTO found FROM (" FOREIGN_OBJECTS
    ") AS f;"
    " IF found IS NOT NULL THEN"
    " RAISE EXCEPTION 'whoever changes the tables would run the code of another role: %', found USING ERRCODE = 'LF004',"
    " HINT = 'run init-db as the role that owns them; or take them over with ''leafctl init-db --adopt'','\n"
    " ' which drops what it cannot trust'; END IF; END $foreign$;\n";

}  // namespace leaf::store::postgresql
