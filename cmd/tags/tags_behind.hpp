#pragma once

#include <functional>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"

namespace leafctl {

/// For each of `tags`, and for each that the store lost and that `is_meant`, an Error (refused) that says why
/// and what to do, if the store's next grant would begin below what may have been granted: it has gone back.
/// A tag that waits for the guard is behind until it has left that out.
std::vector<leaf::Error> tags_behind(const std::vector<leaf::Tag>& tags, leaf::Store& store,
                                     const std::function<bool(const std::string&)>& is_meant);

}  // namespace leafctl
