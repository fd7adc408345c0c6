#include "store/postgresql/foreign_objects.hpp"

namespace leaf::store::postgresql {

// Trusted are those whose code the present role runs anyway: itself, superusers, and roles that it is a
// member of. A superuser is a member of all, and trusts none of them. Of a table of another role no
// expression is trusted, but for constants and what Leaf's users write; names that are printed without a
// schema are PostgreSQL's own. Of one's own table an object is foreign if it needs one of another role.
const char* const foreign_objects = R"(WITH RECURSIVE foreigner AS (
  SELECT r.oid, r.rolname FROM pg_roles r JOIN pg_roles me ON me.rolname = current_user
  WHERE r.oid <> me.oid AND NOT r.rolsuper AND (me.rolsuper OR NOT pg_has_role(me.oid, r.oid, 'MEMBER'))
), home AS (
  SELECT oid FROM pg_namespace WHERE quote_ident(nspname) || '.' = 'leaf.'
), tables AS (
  SELECT c.oid, c.relowner, c.relkind, c.relacl, c.relrowsecurity, c.relispartition
  FROM pg_class c JOIN home ON home.oid = c.relnamespace
  WHERE c.relname IN ('leaf_alloc', 'leaf_worker', 'leaf_meta', 'leaf_event')
  UNION SELECT c.oid, c.relowner, c.relkind, c.relacl, c.relrowsecurity, c.relispartition
  FROM tables t JOIN pg_inherits i ON i.inhparent = t.oid JOIN pg_class c ON c.oid = i.inhrelid
), store AS (
  SELECT EXISTS (SELECT FROM pg_class c JOIN home ON home.oid = c.relnamespace WHERE c.relname = 'leaf_meta') AS is_made
), owned AS (
  SELECT 'pg_proc'::regclass AS class, oid, proowner AS owner FROM pg_proc
  UNION ALL SELECT 'pg_type'::regclass, oid, typowner FROM pg_type
  UNION ALL SELECT 'pg_operator'::regclass, oid, oprowner FROM pg_operator
  UNION ALL SELECT 'pg_opclass'::regclass, oid, opcowner FROM pg_opclass
), attached AS (
  SELECT 'pg_trigger'::regclass AS class, oid, tgrelid AS on_table, 'trigger ' || quote_ident(tgname) AS what,
    format('DROP TRIGGER %I ON %s', tgname, tgrelid::regclass) AS remedy, tgname LIKE 'leaf\_%' AS is_own
  FROM pg_trigger WHERE NOT tgisinternal
  UNION ALL SELECT 'pg_rewrite'::regclass, oid, ev_class, 'rule ' || quote_ident(rulename),
    format('DROP RULE %I ON %s', rulename, ev_class::regclass), false
  FROM pg_rewrite WHERE rulename <> '_RETURN'
  UNION ALL SELECT 'pg_policy'::regclass, oid, polrelid, 'policy ' || quote_ident(polname),
    format('DROP POLICY %I ON %s', polname, polrelid::regclass), false
  FROM pg_policy
  UNION ALL SELECT 'pg_attrdef'::regclass, d.oid, adrelid,
    CASE attgenerated WHEN '' THEN 'default' ELSE 'expression' END || ' of column ' || quote_ident(attname),
    format('ALTER TABLE %s ALTER COLUMN %I DROP %s', adrelid::regclass, attname,
           CASE attgenerated WHEN '' THEN 'DEFAULT' ELSE 'EXPRESSION' END), attname = 'granted_by'
  FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = adrelid AND a.attnum = adnum
  WHERE attgenerated <> '' OR pg_get_expr(adbin, adrelid) !~ (
    '^(now\(\)|CURRENT_TIMESTAMP|LOCALTIMESTAMP|nextval\(''[^'']*''::regclass\)'
    '|(''[^'']*''|-?[0-9.]+|NULL|true|false)(::[a-z ]+(\([0-9,]+\))?)?)$')
  UNION ALL SELECT 'pg_constraint'::regclass, oid, conrelid, 'constraint ' || quote_ident(conname),
    format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname), false
  FROM pg_constraint WHERE contype IN ('c', 'x')
  UNION ALL SELECT 'pg_class'::regclass, indexrelid, indrelid, 'index ' || quote_ident(relname),
    format('DROP INDEX %s', indexrelid::regclass), false
  FROM pg_index JOIN pg_class c ON c.oid = indexrelid
  WHERE NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
    AND (indexprs IS NOT NULL OR indpred IS NOT NULL OR EXISTS (
      SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = indexrelid
        AND d.refclassid = 'pg_opclass'::regclass))
  UNION ALL SELECT 'pg_statistic_ext'::regclass, s.oid, stxrelid, 'statistics ' || quote_ident(stxname),
    format('DROP STATISTICS %I.%I', nspname, stxname), false
  FROM pg_statistic_ext s JOIN pg_namespace n ON n.oid = stxnamespace
)
-- Tables are taken first, so that the rest is one's own to drop; but not a store that another role has set up.
SELECT what, rolname, remedy FROM (
  SELECT 0 AS rank, CASE WHEN relkind IN ('r', 'p') THEN 'table ' ELSE 'relation ' END || t.oid::regclass AS what,
    f.rolname, CASE WHEN relkind IN ('r', 'p') AND NOT is_made
                    THEN format('ALTER TABLE %s OWNER TO CURRENT_USER', t.oid::regclass) END AS remedy
  FROM store, tables t JOIN foreigner f ON f.oid = t.relowner
  UNION ALL SELECT 1, a.what || ' on ' || on_table::regclass, coalesce(f.rolname, needed.rolname),
    CASE WHEN NOT (is_own AND is_made) THEN remedy END
  FROM store, attached a JOIN tables t ON t.oid = on_table LEFT JOIN foreigner f ON f.oid = t.relowner
  LEFT JOIN LATERAL (
    SELECT min(o.rolname::text) AS rolname
    FROM pg_depend d JOIN owned ON owned.class = d.refclassid AND owned.oid = d.refobjid
    JOIN foreigner o ON o.oid = owned.owner
    WHERE d.classid = a.class AND d.objid = a.oid) AS needed ON true
  WHERE f.oid IS NOT NULL OR needed.rolname IS NOT NULL
  UNION ALL SELECT 2, 'row-level security of ' || t.oid::regclass, f.rolname,
    format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', t.oid::regclass)
  FROM tables t JOIN foreigner f ON f.oid = t.relowner WHERE t.relrowsecurity
  UNION ALL SELECT 3, 'right TRIGGER on ' || t.oid::regclass, coalesce(f.rolname, 'PUBLIC'),
    format('REVOKE TRIGGER ON %s FROM %s CASCADE', t.oid::regclass, coalesce(quote_ident(f.rolname), 'PUBLIC'))
  FROM tables t JOIN foreigner o ON o.oid = t.relowner
  CROSS JOIN LATERAL aclexplode(t.relacl) AS g LEFT JOIN foreigner f ON f.oid = g.grantee
  WHERE g.privilege_type = 'TRIGGER' AND (f.oid IS NOT NULL OR g.grantee = 0) AND g.grantee <> t.relowner
  UNION ALL SELECT 4, 'function ' || p.oid::regprocedure, f.rolname, format('DROP ROUTINE %s', p.oid::regprocedure)
  FROM pg_proc p JOIN home ON home.oid = p.pronamespace JOIN foreigner f ON f.oid = p.proowner
  WHERE p.proname LIKE 'leaf\_%'
  UNION ALL SELECT 5, format('type %s of column %I of %s', format_type(a.atttypid, NULL), attname, t.oid::regclass),
    f.rolname, NULL
  FROM tables t JOIN pg_attribute a ON a.attrelid = t.oid AND attnum > 0 AND NOT attisdropped
  JOIN pg_type y ON y.oid = a.atttypid JOIN foreigner f ON f.oid = y.typowner
  UNION ALL SELECT 6, format('inheritance of %s from %s', t.oid::regclass, inhparent::regclass), f.rolname,
    format('ALTER TABLE %s NO INHERIT %s', t.oid::regclass, inhparent::regclass)
  FROM tables t JOIN foreigner f ON f.oid = t.relowner JOIN pg_inherits ON inhrelid = t.oid AND NOT relispartition
) AS found ORDER BY rank, what)";

const char* const lock_tables = R"(DO $lock$
DECLARE
  found regclass;
BEGIN
  FOR found IN
    SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE quote_ident(n.nspname) || '.' = 'leaf.' AND c.relkind IN ('r', 'p')
      AND c.relname IN ('leaf_alloc', 'leaf_worker', 'leaf_meta', 'leaf_event')
  LOOP
    EXECUTE format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE', found);
  END LOOP;
END
$lock$;
)";

const char* const refuse_foreign_objects = R"(DO $foreign$
DECLARE
  found text;
BEGIN
  SELECT string_agg(format('%s of role ''%s''', what, rolname), ', ') INTO found FROM (
@
  ) AS foreign_objects;
  IF found IS NOT NULL THEN
    RAISE EXCEPTION 'whoever changes the tables would run the code of another role: %', found
      USING ERRCODE = 'LF004', HINT = 'do this as the role that owns them; or take them over, which drops'
        ' what would run';
  END IF;
END
$foreign$;
)";

}  // namespace leaf::store::postgresql
