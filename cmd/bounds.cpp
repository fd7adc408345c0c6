#include <fmt/format.h>

#include <optional>
#include <string>

#include "cli/declaration.hpp"
#include "commands.hpp"
#include "ids/layout_options.hpp"
#include "ids/sql_column.hpp"
#include "leaf/error.hpp"
#include "text/hint.hpp"
#include "text/time_text.hpp"

namespace leafctl {

namespace {

constexpr Column<leaf::IdBounds> columns[] = {
    {"first", [](const leaf::IdBounds& bounds) -> Cell { return Id{bounds.first}; }},
    {"last", [](const leaf::IdBounds& bounds) -> Cell { return Id{bounds.last}; }},
};

/// The IDs, and the condition of SQL that selects them.
struct Selection {
  leaf::IdBounds bounds;
  std::string condition;
};

constexpr Column<Selection> selection_columns[] = {
    {"first", [](const Selection& selection) -> Cell { return Id{selection.bounds.first}; }},
    {"last", [](const Selection& selection) -> Cell { return Id{selection.bounds.last}; }},
    {"where", [](const Selection& selection) -> Cell { return selection.condition; }},
};

class Bounds : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe("Prints the first and last snowflake ID of a time range, for queries on a database.");
    command.add_text_option("--from", "TIME", from_,
                            "start of the range: 2022-06-28T16:07:40.105Z, 2022-06-28 (midnight, UTC), "
                            "today, yesterday, tomorrow, now, "
                            "now-1h, today-7d or Unix milliseconds (default: the epoch of the layout)");
    command.add_text_option("--to", "TIME", to_, "end of the range, not included (default: none)");
    command.add_text_option("--sql", "COLUMN", column_,
                            "print the condition for a WHERE clause, COLUMN BETWEEN first AND last");
    layout_.declare(command);
    command.add_examples(
        "Prints the first and the last ID, both included, of the times from --from to\n"
        "just before --to: adjacent ranges share no ID and miss none.\n"
        "The time of an ID is the one that 'leafctl decode' prints.\n\n"
        "Examples:\n"
        "  leafctl bounds --from 2022-06-28 --to 2022-06-29\n"
        "  leafctl bounds --from yesterday --to today --sql orders.id\n"
        "  psql -c \"select * from orders where $(leafctl bounds --from now-1h --sql id)\"");
  }

  bool uses_store() const override { return false; }

  void run(Session& session) override {
    if (!from_ && !to_) {
      throw leaf::Error(leaf::ErrorCode::usage, "option '--from' or '--to' is missing",
                        "see 'leafctl bounds --help'"_hint);
    }
    const auto layout = layout_.layout(session.settings());
    const auto now = current_time();
    const auto from = from_ ? parse_bound("--from", *from_, now) : layout.epoch();
    const auto bounds = to_ ? layout.bounds(from, end_after(from, now)) : layout.bounds(from);
    if (!column_) return session.output.print_one(columns, bounds);
    const Selection selection{bounds, fmt::format("{} BETWEEN {} AND {}", sql_column("--sql", *column_),
                                                  bounds.first, bounds.last)};
    if (session.output.format() == OutputFormat::json) {
      session.output.print_one(selection_columns, selection);
    } else {
      session.output.print_text(selection.condition + "\n");
    }
  }

 private:
  leaf::UnixTime end_after(leaf::UnixTime from, leaf::UnixTime now) const {
    const auto to = parse_bound("--to", *to_, now);
    if (to > from) return to;
    if (from_ && to == from && *to_ != *from_) {
      throw leaf::Error(leaf::ErrorCode::usage,
                        fmt::format("no millisecond begins between '{}' and '{}'", *from_, *to_),
                        "IDs hold times in whole milliseconds or longer units; choose a longer range"_hint);
    }
    throw leaf::Error(leaf::ErrorCode::usage,
                      from_ ? fmt::format("--to ('{}') must be later than --from ('{}')", *to_, *from_)
                            : fmt::format("--to ('{}') must be later than the epoch of the layout", *to_));
  }

  std::optional<std::string> from_;
  std::optional<std::string> to_;
  std::optional<std::string> column_;
  LayoutOptions layout_;
};

}  // namespace

std::unique_ptr<Command> make_bounds() {
  return std::make_unique<Bounds>();
}

}  // namespace leafctl
