#include "bench/host.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "bench/tag.hpp"
#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leafctl {

BenchHost::BenchHost(const Session& session, const BenchPlan& plan) {
  if (!plan.host_buffer) return;
  options_ = session.host();
  if (!options_) {
    throw leaf::Error(leaf::ErrorCode::usage, "'--host-buffer' is for a host whose buffers are used",
                      "see 'host_buffer' and 'runtime_dir' in 'leafctl show-config'"_hint);
  }
  options_->folder = fmt::format("{}.{}", options_->folder, throwaway_name());
}

void BenchHost::clean_up() noexcept {
  std::error_code ignored;
  if (options_) std::filesystem::remove_all(options_->folder, ignored);
}

}  // namespace leafctl
