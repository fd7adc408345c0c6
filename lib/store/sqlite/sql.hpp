#pragma once

#include "store/sql.hpp"

namespace leaf::store::sqlite {

extern const Sql sql;

}  // namespace leaf::store::sqlite
