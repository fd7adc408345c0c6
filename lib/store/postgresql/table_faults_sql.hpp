#pragma once

namespace leaf::store::postgresql {

/// Sql::table_faults
extern const char* const table_faults;

}  // namespace leaf::store::postgresql
