#pragma once

#include <string>
#include <string_view>

namespace leafctl {

/// `name`, a column as people name it, as SQL takes it: `id`, `orders.id`, `"order"."Order ID"`. What is no
/// plain identifier, or a reserved word, is quoted, each part of a qualified name by itself; what is in
/// double quotes already stays. Throws leaf::Error (usage) that names `option`.
std::string sql_column(std::string_view option, std::string_view name);

}  // namespace leafctl
