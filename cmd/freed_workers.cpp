#include "freed_workers.hpp"

#include <fmt/format.h>

namespace leafctl {

namespace {

constexpr Column<std::int64_t> columns[] = {
    {"worker", [](const std::int64_t& worker) -> Cell { return worker; }},
};

}  // namespace

void report_freed(std::string_view verb, const std::vector<std::int64_t>& workers, Session& session) {
  if (!workers.empty()) {
    session.messages.info(
        fmt::format("{} worker{} {}", verb, workers.size() == 1 ? "" : "s", fmt::join(workers, ", ")));
  }
  if (session.output.format() == OutputFormat::json) session.output.print_list(columns, workers);
  session.output.flush();
}

}  // namespace leafctl
