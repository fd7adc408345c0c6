#pragma once

namespace leaf::store::postgresql {

/// What is in migrations/postgresql/functions.sql; made by the build.
extern const char* const functions;

}  // namespace leaf::store::postgresql
