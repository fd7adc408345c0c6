#include "cli/declaration.hpp"
#include "commands.hpp"
#include "tags/meant_tag.hpp"
#include "text/time_text.hpp"

namespace leafctl {

namespace {

/// An event, and when it was looked at.
struct SeenEvent {
  leaf::Event event;
  leaf::UnixTime now;
};

Cell text_or_nothing(const std::string& text) {
  return text.empty() ? Cell() : Cell(text);
}

constexpr Column<SeenEvent> columns[] = {
    {"time",
     [](const SeenEvent& seen) -> Cell {
       return TimeFromNow{seen.event.time, std::max(seen.event.time, seen.now)};
     }},
    {"who", [](const SeenEvent& seen) -> Cell { return text_or_nothing(seen.event.who); }},
    {"program", [](const SeenEvent& seen) -> Cell { return text_or_nothing(seen.event.program); }},
    {"event", [](const SeenEvent& seen) -> Cell { return seen.event.event; }},
    {"tag", [](const SeenEvent& seen) -> Cell { return text_or_nothing(seen.event.tag); }},
    {"worker",
     [](const SeenEvent& seen) -> Cell { return seen.event.worker ? Cell(*seen.event.worker) : Cell(); }},
    {"detail", [](const SeenEvent& seen) -> Cell { return Remark{seen.event.detail}; }},
};

class Log : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Prints who added, changed, raised and removed tags and freed workers, and when, oldest first. "
        "Drawing IDs and leasing workers is not logged. The store keeps the last 10,000 changes of tags, and "
        "as many freed workers.");
    command.add_tag_argument(tag_, "only changes of this tag", Presence::optional);
    command.add_text_option("--since", "TIME", since_,
                            "only later changes: 2022-06-28, today, now-1h or as for bounds (default: all)");
    command.add_examples(
        "Prints time, who, program, event (add, update, raise, remove, free or\n"
        "deployment), tag, worker and detail. In PostgreSQL who is the role that logged\n"
        "in and program its application_name; in SQLite who is the user, and program is\n"
        "empty.\n\n"
        "Examples:\n"
        "  leafctl log\n"
        "  leafctl log order --since now-7d\n"
        "  leafctl log -o json | jq -r 'select(.event == \"free\").worker'");
  }

  void run(Session& session) override {
    const leaf::UnixTime now = current_time();
    const leaf::UnixTime since = since_ ? parse_time("--since", *since_, now) : leaf::UnixTime();
    leaf::Store store = session.store();
    std::vector<SeenEvent> events;
    for (leaf::Event& event : store.events(tag_, since)) events.push_back({std::move(event), now});
    // One that was removed, or that was never changed, is no mistake.
    if (tag_ && events.empty() && store.events(tag_, {}).empty())
      on_tag(*tag_, session, [&] { return store.tag(*tag_); });  // throws if there is none
    session.output.print_list(columns, events);
    if (events.empty()) session.messages.info("no changes");
  }

 private:
  std::optional<leaf::TagName> tag_;
  std::optional<std::string> since_;
};

}  // namespace

std::unique_ptr<Command> make_log() {
  return std::make_unique<Log>();
}

}  // namespace leafctl
