#pragma once

#include <optional>
#include <string>

#include "leaf/host.hpp"
#include "leaf/leaf.h"
#include "leaf/store.hpp"

namespace leaf::c {

/// What a leaf_options says, with the host's defaults where it says nothing.
struct Settings {
  StoreOptions store;
  std::chrono::milliseconds timeout{};
  std::optional<HostOptions> host;      ///< absent: nothing is shared
  std::optional<HostOptions> marks_of;  ///< the host that remembers what was granted; absent: none does

  /// With the marks of this process, which a child of it must not use.
  StoreOptions store_of_this_process() const {
    StoreOptions result = store;
    if (marks_of) result.marks = host_marks(*marks_of);
    return result;
  }

  std::string worker_name;
  std::optional<std::int64_t> worker;  ///< the only one to take
  std::optional<Layout> layout;
};

/// Null: the defaults alone. Throws Error (usage).
Settings settings_of(const leaf_options* options);

}  // namespace leaf::c
