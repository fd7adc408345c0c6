#include "store/postgresql/locks_sql.hpp"

#include "store/postgresql/sql_pieces.hpp"

#define LOCKER                                                                        \
  "coalesce(l.pid, 0), coalesce(a.usename, p.owner), nullif(a.application_name, '')," \
  " (extract(epoch FROM coalesce(a.xact_start, p.prepared)) * 1000)::bigint, p.literal"
// A prepared transaction has no process; its lock on itself tells which one it is.
#define LOCKERS                                                                                    \
  " LEFT JOIN pg_stat_activity a ON a.pid = l.pid LEFT JOIN (SELECT virtualtransaction, owner,"    \
  " prepared, quote_literal(gid) AS literal FROM pg_prepared_xacts JOIN pg_locks ON transactionid" \
  " = transaction AND locktype = 'transactionid' AND granted AND pid IS NULL) AS p"                \
  " ON l.pid IS NULL AND p.virtualtransaction = l.virtualtransaction"
#define OF_OTHERS "(l.pid <> pg_backend_pid() OR p.literal IS NOT NULL)"
#define THIS_DATABASE "(SELECT oid FROM pg_database WHERE datname = current_database())"

namespace leaf::store::postgresql {

const char* const locked_tables =
    "SELECT 'table ' || c.relname, " LOCKER " FROM pg_locks l JOIN pg_class c ON c.oid = l.relation" LOCKERS
    " WHERE l.locktype = 'relation' AND l.granted AND " OF_OTHERS " AND l.database = " THIS_DATABASE
    " AND l.relation IN (" TABLES
    ") AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock',"
    " 'AccessExclusiveLock') ORDER BY 2, 6, 1";

// A row that is locked names the transaction that does, which holds the lock on itself until it ends; or a
// multixact, whose members are the transactions. Nothing tells one's number from the other's, so whoever is
// named has to hold the lock on the table as well that comes with those of rows. The ages are of multixacts
// that there are. FOR KEY SHARE is in no grant's way.
const char* const locked_rows =
    "SELECT DISTINCT what, " LOCKER
    " FROM (SELECT format('tag ''%s''', biz_tag) AS what, tableoid AS home,"
    " xmax AS named FROM leaf_alloc WHERE removed_at IS NULL"
    " UNION ALL SELECT format('worker %s', worker_id), tableoid, xmax FROM leaf_worker"
    " UNION ALL SELECT 'the row that new workers are counted in', tableoid, xmax FROM leaf_meta) AS rows"
    " JOIN pg_class c ON c.oid = home"
    " CROSS JOIN LATERAL (SELECT named AS holder UNION ALL SELECT m.xid FROM pg_get_multixact_members("
    "CASE WHEN mxid_age(named) BETWEEN 1 AND mxid_age(relminmxid) THEN named END) AS m"
    " WHERE m.mode <> 'keysh') AS holders"
    " JOIN pg_locks l ON l.locktype = 'transactionid' AND l.granted AND l.mode = 'ExclusiveLock'"
    " AND l.transactionid::text = holder::text" LOCKERS " WHERE named::text <> '0' AND " OF_OTHERS
    " AND EXISTS (SELECT FROM pg_locks r WHERE r.locktype = 'relation' AND r.database = " THIS_DATABASE
    " AND r.relation = home AND r.mode IN ('RowShareLock', 'RowExclusiveLock')"
    " AND r.virtualtransaction = l.virtualtransaction AND r.pid IS NOT DISTINCT FROM l.pid)"
    // Anybody who may connect can take this one.
    " UNION SELECT 'changes of the schema', " LOCKER " FROM pg_locks l" LOCKERS
    " WHERE l.locktype = 'advisory' AND l.granted AND " OF_OTHERS " AND l.database = " THIS_DATABASE
    " AND l.classid::bigint = 0::bigint AND l.objid::bigint = " MIGRATION_LOCK
    "::bigint"
    " ORDER BY 2, 6, 1";

}  // namespace leaf::store::postgresql
