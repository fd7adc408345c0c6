#pragma once

namespace leaf::store::postgresql {

/// What roles may do, and are given: see store::Sql.
extern const char* const runtime_grants;
extern const char* const runtime_role;
extern const char* const runtime_excess;
extern const char* const schema_creators;
extern const char* const schema_owners;

}  // namespace leaf::store::postgresql
