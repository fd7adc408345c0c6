#include "ids/one_store.hpp"

#include <fmt/format.h>

#include "leaf/detail/counted.hpp"
#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leafctl {

void OneStore::require(const leaf::StoreIdentity& store, std::int64_t count) {
  if (!deployment_.empty() && store.deployment != deployment_) {
    throw leaf::Error(leaf::ErrorCode::refused,
                      fmt::format("the store is another one now; {} of the previous one {} printed",
                                  leaf::detail::counted(printed_, "ID"), printed_ == 1 ? "was" : "were"),
                      "keep them apart from the IDs of the new store, and draw again"_hint);
  }
  deployment_ = store.deployment;
  printed_ += count;
}

}  // namespace leafctl
