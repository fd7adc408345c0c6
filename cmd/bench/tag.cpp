#include "bench/tag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "cli/declaration.hpp"
#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

/// How many IDs --verify has room for: a bit each.
constexpr std::int64_t verifiable = std::int64_t{1} << 38;

}  // namespace

std::string throwaway_name() {
  return fmt::format("leafctl-bench-{:08x}", std::random_device{}());
}

void BenchTag::declare(Declaration& command, std::int64_t step) {
  default_step_ = step;
  command.add_text_option("--tag", "TAG", told_,
                          "draw from this tag (default: one of its own, removed afterwards)");
  command.add_integer_option(
      "--step", "N", step_, {1, leaf::max_step},
      fmt::format("the step of a tag of its own, 1 to {} (default: {})", leaf::max_step, step));
}

const leaf::TagName& BenchTag::name() {
  if (!name_) {
    if (told_ && step_) {
      throw leaf::Error(leaf::ErrorCode::usage, "'--step' is for a tag of its own, not for '--tag'");
    }
    name_.emplace(told_ ? *told_ : throwaway_name());
  }
  return *name_;
}

leaf::Range BenchTag::prepare(leaf::Store& store) {
  if (!told_) {
    store.add_tag(
        {.name = name(), .step = step_.value_or(default_step_), .description = "made by 'leafctl bench'"});
    is_to_be_removed_ = true;
  }
  const std::int64_t first = store.tag(name()).next_id;
  return {first, first + std::min(verifiable, leaf::max_id - first + 1)};
}

leaf::StoreOptions BenchTag::store_options(const Session& session) const {
  return told_ ? session.store_options() : session.store_options_without_marks();
}

void BenchTag::clean_up(const leaf::StoreOptions& options) {
  if (!is_to_be_removed_) return;
  try {
    leaf::Store(options).remove_tag(name());
  } catch (const leaf::Error& error) {
    if (error.code() == leaf::ErrorCode::not_found) return;
    throw leaf::Error(error.code(),
                      fmt::format("tag '{}' is left in the store: {}", name().str(), error.what()),
                      fmt::format("remove it with 'leafctl tags remove --yes {}'"_hint, name().str()));
  }
}

}  // namespace leafctl
