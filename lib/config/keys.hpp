#pragma once

#include <string_view>

namespace leaf::config {

/// A key of a configuration file. The program's own are known here so that a misspelt one of the library's is
/// told from them: whatever reads the file, it is right or wrong as a whole.
struct Key {
  std::string_view name;
  bool takes_mapping = false;  ///< also `{NAME: VALUE, NAME: VALUE}`
};

inline constexpr std::string_view stores_key = "stores";

inline constexpr Key keys[] = {
    {"store"},         {"timeout"},         {"output"},      {"color"},    {"layout"},
    {"worker_name"},   {"worker_id", true}, {"window"},      {"max_skew"}, {"max_backward"},
    {"recycle_after"}, {"runtime_dir"},     {"host_buffer"}, {"group"},
};

}  // namespace leaf::config
