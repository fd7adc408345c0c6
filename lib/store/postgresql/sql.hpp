#pragma once

#include "store/sql.hpp"

namespace leaf::store::postgresql {

extern const Sql sql;

}  // namespace leaf::store::postgresql
