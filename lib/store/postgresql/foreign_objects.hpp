#pragma once

namespace leaf::store::postgresql {

/// What could make whoever changes the store's tables run the code of another role: its tables, and on any of
/// them its triggers, rules, policies, defaults, generated columns, constraints, indexes, statistics and
/// types; functions that stand beside those of the store; and its right to make triggers. Names are written
/// as in a migration -> what it is, its owner, the SQL that takes it over or drops it, or NULL where nobody
/// but its owner can tell what that would break.
extern const char* const foreign_objects;
/// Keeps the tables as they are while some are taken over.
extern const char* const lock_tables;
/// Raises LF004, naming them, where there are any; @ stands for the statement above.
extern const char* const refuse_foreign_objects;

}  // namespace leaf::store::postgresql
