#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/command.hpp"
#include "cli/declaration.hpp"
#include "leaf/range.hpp"
#include "leaf/store.hpp"
#include "leaf/tag.hpp"

namespace leafctl {

/// A name that nobody else has: "leafctl-bench-" and eight digits.
std::string throwaway_name();

/// The tag that a benchmark draws from: the one it is told, or one of its own that goes with it.
class BenchTag {
 public:
  /// Adds `--tag` and `--step` to `command`; this has to live as long. `step` is that of a tag of its own.
  void declare(Declaration& command, std::int64_t step);

  /// Makes a tag of its own, or looks for the one it was told. Returns which IDs may be drawn from it. Throws
  /// leaf::Error as Store does.
  leaf::Range prepare(leaf::Store& store);
  /// What to draw with. This host remembers what it is granted of a tag that others draw from as well, and
  /// nothing of a tag of its own.
  leaf::StoreOptions store_options(const Session& session) const;
  /// Removes a tag of its own that was made. Throws leaf::Error as Store does.
  void clean_up(const leaf::StoreOptions& store);

  /// Settled by the first call, which comes before the processes are forked that draw from it. Throws
  /// leaf::Error (usage) if it is no tag's name, or if a step was given for it.
  const leaf::TagName& name();

 private:
  std::optional<std::string> told_;
  std::optional<std::int64_t> step_;
  std::int64_t default_step_ = 0;
  std::optional<leaf::TagName> name_;
  bool is_to_be_removed_ = false;
};

}  // namespace leafctl
