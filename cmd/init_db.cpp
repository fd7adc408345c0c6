#include <fmt/format.h>

#include "buffered_ids.hpp"
#include "commands.hpp"
#include "leaf/error.hpp"
#include "options.hpp"
#include "store_folder.hpp"

namespace leafctl {

namespace {

std::string migration_name(const leaf::Migration& migration) {
  return fmt::format("{:04}_{}", migration.number, migration.name);
}

struct Outcome {
  std::string store;
  std::string deployment;
  std::string layout;
  std::vector<std::string> applied;
};

constexpr Column<Outcome> outcome_columns[] = {
    {"store", [](const Outcome& outcome) -> Cell { return outcome.store; }},
    {"deployment", [](const Outcome& outcome) -> Cell { return outcome.deployment; }},
    {"layout", [](const Outcome& outcome) -> Cell { return outcome.layout; }},
    {"applied", [](const Outcome& outcome) -> Cell { return outcome.applied; }},
};

constexpr Column<leaf::Migration> migration_columns[] = {
    {"number", [](const leaf::Migration& migration) -> Cell { return std::int64_t{migration.number}; }},
    {"name", [](const leaf::Migration& migration) -> Cell { return migration.name; }},
    {"sql", [](const leaf::Migration& migration) -> Cell { return migration.sql; }},
};

class InitDb : public Command {
 public:
  void setup(CLI::App& app) override {
    app.description(
        "Creates the tables that leafctl needs in the store, or brings older ones up to date; run again, it "
        "does "
        "nothing. A table 'leaf_alloc' of Leaf's own is taken over with its rows.");
    add_text_option(app, "--layout", "LAYOUT", layout_,
                    "how snowflake IDs are divided, as for 'leafctl decode'; for good once the first is made "
                    "(default: as it is, leaf in a new store)");
    app.add_flag("--dry-run", dry_run_, "print the SQL and change nothing");
    app.footer(
        "Examples:\n"
        "  leafctl init-db\n"
        "  leafctl init-db --layout twitter\n"
        "  leafctl init-db --store postgresql://db.example.org/ids --dry-run");
  }

  std::vector<std::string_view> setting_keys() const override {
    return {host_setting_keys.begin(), host_setting_keys.end()};
  }

  void run(Session& session) override {
    if (dry_run_ && layout_) {
      throw leaf::Error(
          leaf::ErrorCode::usage, "'--dry-run' and '--layout' exclude each other",
          fmt::format("the SQL makes the tables; 'leafctl init-db --layout {}' then sets the layout",
                      *layout_));
    }
    if (dry_run_) {
      print_script(session);
    } else {
      migrate(session);
    }
  }

 private:
  static void print_script(Session& session) {
    leaf::Store store = session.store();
    const auto pending = store.pending_migrations();
    if (pending.empty()) session.messages.info("the store is up to date");
    if (session.output.format() == OutputFormat::json) {
      session.output.print_list(migration_columns, pending);
    } else if (!pending.empty()) {
      session.output.print_text(store.migration_script());
    }
  }

  void migrate(Session& session) const {
    const auto layout = layout_ ? std::optional(leaf::Layout::parse(*layout_)) : std::nullopt;
    create_default_store_folder(session.configuration);
    leaf::Store store = session.store();
    Outcome outcome{leaf::redact_url(session.settings().store), {}, {}, {}};
    const auto applied = store.migrate();
    if (layout) store.set_layout(*layout);
    outcome.layout = store.layout().name();
    for (const leaf::Migration& migration : applied) outcome.applied.push_back(migration_name(migration));
    outcome.deployment = store.deployment();
    const bool created = !applied.empty() && applied.front().number == 1;
    if (created) drop_all_buffered_ids(session);  // they are of a store that was here before
    session.messages.info(fmt::format("{} store '{}', deployment {}, layout {}",
                                      applied.empty() ? "up to date:" : (created ? "created" : "upgraded"),
                                      outcome.store, outcome.deployment, outcome.layout));
    if (!applied.empty()) session.messages.info(fmt::format("applied {}", fmt::join(outcome.applied, ", ")));
    if (session.output.format() == OutputFormat::json) session.output.print_one(outcome_columns, outcome);
  }

  std::optional<std::string> layout_;
  bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_init_db() {
  return std::make_unique<InitDb>();
}

}  // namespace leafctl
