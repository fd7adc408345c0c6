#include "workers/freed_workers.hpp"

#include <fmt/format.h>

#include <optional>

namespace leafctl {

namespace {

using Freed = std::optional<std::int64_t>;

constexpr Column<Freed> columns[] = {
    {"worker", [](const Freed& worker) -> Cell { return worker ? Cell(*worker) : Cell(); }},
};

}  // namespace

void report_freed(std::string_view verb, const std::vector<std::int64_t>& workers, Session& session) {
  if (!workers.empty()) {
    session.messages.info(
        fmt::format("{} worker{} {}", verb, workers.size() == 1 ? "" : "s", fmt::join(workers, ", ")));
  }
  if (session.output.format() == OutputFormat::json) {
    std::vector<Freed> freed(workers.begin(), workers.end());
    if (freed.empty()) freed.emplace_back();
    session.output.print_list(columns, freed);
  }
  session.output.flush();
}

}  // namespace leafctl
