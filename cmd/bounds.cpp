#include <optional>
#include <string>

#include "commands.hpp"
#include "declaration.hpp"
#include "layout_options.hpp"
#include "time_text.hpp"

namespace leafctl {

namespace {

constexpr Column<leaf::IdBounds> columns[] = {
    {"first", [](const leaf::IdBounds& bounds) -> Cell { return Id{bounds.first}; }},
    {"last", [](const leaf::IdBounds& bounds) -> Cell { return Id{bounds.last}; }},
};

class Bounds : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Prints the first and the last snowflake ID of a stretch of time, to select by in a database.");
    command.add_text_option(
        "--from", "TIME", from_,
        "first time: 2022-06-28T16:07:40.105Z, 2022-06-28 (midnight, UTC), now, now-1h, now-7d or Unix "
        "milliseconds",
        Presence::required);
    command.add_text_option("--to", "TIME", to_,
                            "the time before which the stretch ends (default: all that follows)");
    layout_.declare(command);
    command.add_examples(
        "Prints the first and the last ID, both included, of the times from --from to\n"
        "just before --to: stretches that follow each other share no ID and miss none.\n"
        "The time of an ID is the one that 'leafctl decode' prints.\n\n"
        "Examples:\n"
        "  leafctl bounds --from 2022-06-28 --to 2022-06-29\n"
        "  read first last < <(leafctl bounds --from now-1h)\n"
        "  psql -c \"select * from orders where id between $first and $last\"");
  }

  void run(Session& session) override {
    const auto layout = layout_.layout(session.settings());
    const auto now = current_time();
    const auto from = parse_time("--from", *from_, now);
    const auto bounds = to_ ? layout.bounds(from, parse_time("--to", *to_, now)) : layout.bounds(from);
    session.output.print_one(columns, bounds);
  }

 private:
  std::optional<std::string> from_;
  std::optional<std::string> to_;
  LayoutOptions layout_;
};

}  // namespace

std::unique_ptr<Command> make_bounds() {
  return std::make_unique<Bounds>();
}

}  // namespace leafctl
