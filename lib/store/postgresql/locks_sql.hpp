#pragma once

namespace leaf::store::postgresql {

/// What other sessions and prepared transactions have locked, so that nobody else may write there: see
/// store::Sql.
extern const char* const locked_tables;
extern const char* const locked_rows;

}  // namespace leaf::store::postgresql
