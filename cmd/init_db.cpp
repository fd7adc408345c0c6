#include <fmt/format.h>

#include <limits>

#include "buffered_ids.hpp"
#include "commands.hpp"
#include "confirmation.hpp"
#include "counted.hpp"
#include "declaration.hpp"
#include "hint.hpp"
#include "leaf/error.hpp"
#include "leaf/health.hpp"
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
  bool made_log = false;
  std::vector<std::string> adopted;  ///< the SQL
  std::string former_layout;         ///< where it was changed, but for a new store
  std::optional<std::string> runtime_role;
  std::optional<std::int64_t> guard_steps;
  std::optional<std::int64_t> former_guard;  ///< where it was changed
  std::int64_t schema_version = 0;
  std::int64_t minimum_reader = 0;
  std::int64_t known_version = 0;  ///< of this program
};

constexpr Column<Outcome> outcome_columns[] = {
    {"store", [](const Outcome& outcome) -> Cell { return outcome.store; }},
    {"deployment", [](const Outcome& outcome) -> Cell { return outcome.deployment; }},
    {"layout", [](const Outcome& outcome) -> Cell { return outcome.layout; }},
    {"schema_version", [](const Outcome& outcome) -> Cell { return outcome.schema_version; }},
    {"minimum_reader", [](const Outcome& outcome) -> Cell { return outcome.minimum_reader; }},
    {"applied", [](const Outcome& outcome) -> Cell { return outcome.applied; }},
    {"adopted", [](const Outcome& outcome) -> Cell { return outcome.adopted; }},
    {"runtime_role",
     [](const Outcome& outcome) -> Cell {
       return outcome.runtime_role ? Cell(*outcome.runtime_role) : Cell();
     }},
    {"guard_steps",
     [](const Outcome& outcome) -> Cell {
       return outcome.guard_steps ? Cell(*outcome.guard_steps) : Cell();
     }},
};

/// A piece of SQL that brings the store to where init-db would; what is no migration has number 0.
constexpr Column<leaf::Migration> script_columns[] = {
    {"number",
     [](const leaf::Migration& piece) -> Cell {
       return piece.number == 0 ? Cell() : Cell(std::int64_t{piece.number});
     }},
    {"name", [](const leaf::Migration& piece) -> Cell { return piece.name; }},
    {"minimum_reader",
     [](const leaf::Migration& piece) -> Cell {
       return piece.number == 0 ? Cell() : Cell(std::int64_t{piece.minimum_reader});
     }},
    {"sql", [](const leaf::Migration& piece) -> Cell { return piece.sql; }},
};

class InitDb : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Creates the tables that leafctl needs in the store, or brings older ones up to date; run again, it "
        "does nothing, but makes a log of changes anew that is gone. A table 'leaf_alloc' of Leaf's own is "
        "taken over with its rows.");
    command.add_text_option(
        "--layout", "LAYOUT", layout_,
        "how snowflake IDs are divided, as for 'leafctl decode'; for good once the first is made "
        "(default: as it is, leaf in a new store)");
    command.add_text_option(
        "--runtime-role", "NAME", runtime_role_,
        "let this role of the database draw IDs and lease workers; what else it may do with the "
        "tables is revoked (PostgreSQL only)");
    command.add_integer_option(
        "--guard-steps", "N", guard_steps_, {0, std::numeric_limits<std::int32_t>::max()},
        "steps that a tag leaves out after a failover or restore: the database may have lost grants; 0 for "
        "none (PostgreSQL only; default: as it is, 100 in a new store)");
    command.add_flag(
        "--adopt", adopt_,
        "take over what another role has made, dropping what would run its code; shows it and asks first "
        "(PostgreSQL only)");
    command.add_flag("--yes", yes_, "do not ask; required with --adopt where there is no terminal");
    command.add_flag("--dry-run", dry_run_, "print the SQL and change nothing");
    command.add_examples(
        "Programs draw IDs best as a runtime role, which is neither superuser nor the\n"
        "tables' owner. It reads the store and uses 'leafctl next' and 'leafctl workers';\n"
        "it cannot add, change or remove tags, lower a counter, or set the layout. It can\n"
        "use counters up and free workers: that is what drawing and leasing need.\n\n"
        "Examples:\n"
        "  leafctl init-db\n"
        "  leafctl init-db --layout twitter\n"
        "  leafctl init-db --store service=ids --runtime-role shop\n"
        "  leafctl init-db --store postgresql://db.example.org/ids --dry-run");
  }

  std::vector<std::string_view> setting_keys() const override {
    return {host_setting_keys.begin(), host_setting_keys.end()};
  }

  void run(Session& session) override {
    if (dry_run_ && (layout_ || guard_steps_)) {
      const std::string setting =
          layout_ ? fmt::format("--layout {}", *layout_) : fmt::format("--guard-steps {}", *guard_steps_);
      throw leaf::Error(
          leaf::ErrorCode::usage,
          fmt::format("'--dry-run' and '--{}' exclude each other", layout_ ? "layout" : "guard-steps"),
          fmt::format("the SQL makes the tables; 'leafctl init-db {}' then sets the {}"_hint, setting,
                      layout_ ? "layout" : "guard"));
    }
    if (dry_run_) {
      print_script(session);
    } else {
      migrate(session);
    }
  }

 private:
  void print_script(Session& session) const {
    leaf::Store store = session.store();
    const auto adopted = adopt_ ? store.foreign_objects() : std::vector<leaf::ForeignObject>();
    std::string script = store.migration_script(adopted);
    auto pieces = store.pending_migrations();
    if (!adopted.empty()) {
      std::string adoption;
      for (const leaf::ForeignObject& object : adopted) adoption += object.remedy + ";\n";
      pieces.insert(pieces.begin(), {0, "adoption", adoption});
    }
    if (runtime_role_) {
      pieces.push_back({0, "runtime_role", store.runtime_role_script(*runtime_role_)});
      script += (script.empty() ? "" : "\n") + pieces.back().sql;
    }
    if (pieces.empty()) session.messages.info("the store is up to date");
    if (session.output.format() == OutputFormat::json) {
      session.output.print_list(script_columns, pieces);
    } else {
      session.output.print_text(script);
    }
  }

  void migrate(Session& session) const {
    const auto layout = layout_ ? std::optional(leaf::Layout::parse(*layout_)) : std::nullopt;
    leaf::Store store = session.store();
    // Before anything is changed: not every store has roles and a server.
    if (runtime_role_) store.runtime_role_script(*runtime_role_);
    if (guard_steps_) store.require_guard_steps(*guard_steps_);
    create_default_store_folder(session.configuration);
    share_store_file(session.settings());
    Outcome outcome;
    outcome.store = leaf::redact_url(session.settings().store);
    outcome.runtime_role = runtime_role_;
    const auto adopted =
        adopt_ ? confirmed_adoption(store, session.messages) : std::vector<leaf::ForeignObject>();
    const auto applied = store.migrate(adopted);
    for (const leaf::ForeignObject& object : adopted) outcome.adopted.push_back(object.remedy);
    const bool created = !applied.empty() && applied.front().number == 1;
    if (layout) outcome.former_layout = set_layout(store, *layout, created);
    outcome.layout = store.layout().name();
    outcome.guard_steps = store.guard_steps();
    if (guard_steps_) set_guard(store, *guard_steps_, outcome);
    for (const leaf::Migration& migration : applied) {
      if (migration.number > 0) outcome.applied.push_back(migration_name(migration));
      outcome.made_log = outcome.made_log || migration.number == 0;
    }
    outcome.deployment = store.identity().deployment;
    const leaf::StoreHealth health = store.health();
    outcome.schema_version = health.schema_version.value_or(0);
    outcome.minimum_reader = health.minimum_reader;
    outcome.known_version = health.newest_schema_version;
    if (created) forget_former_store(session);
    report(outcome, created, session.messages);
    if (runtime_role_) {
      store.grant_runtime_role(*runtime_role_);
      session.messages.info(
          fmt::format("role '{}' may draw IDs and lease workers, and no more", *runtime_role_));
      warn_of_creators(store, session.messages);
    }
    if (session.output.format() == OutputFormat::json) session.output.print_one(outcome_columns, outcome);
  }

  std::vector<leaf::ForeignObject> confirmed_adoption(leaf::Store& store, Messages& messages) const {
    auto found = store.foreign_objects();
    if (found.empty()) return found;
    for (const leaf::ForeignObject& object : found) {
      messages.info(fmt::format("{} of role '{}': {}", object.what, object.owner,
                                object.remedy.empty() ? "not taken over" : object.remedy));
    }
    if (yes_) return found;
    const std::string objects = counted(static_cast<std::int64_t>(found.size()), "object");
    require_terminal_to_ask(fmt::format("taking over {} of other roles", objects), messages);
    require_yes(fmt::format("take over or drop {} of other roles?", objects), "nothing was taken over",
                messages);
    return found;
  }

  /// What they create is not called, but is in the way of a later version's tables.
  static void warn_of_creators(leaf::Store& store, Messages& messages) {
    const leaf::StoreHealth health = store.health();
    if (health.schema_creators.empty()) return;
    messages.warning(fmt::format("{} may create objects beside the tables, in schema {}",
                                 fmt::join(health.schema_creators, ", "), health.schema));
  }

  /// Returns the layout that it takes the place of, if there was another one.
  static std::string set_layout(leaf::Store& store, const leaf::Layout& layout, bool created) {
    const leaf::Layout former = store.layout();
    store.set_layout(layout);
    return created || former == layout ? "" : former.name();
  }

  static void set_guard(leaf::Store& store, std::int64_t steps, Outcome& outcome) {
    store.set_guard_steps(steps);
    if (outcome.guard_steps != steps) outcome.former_guard = outcome.guard_steps;
    outcome.guard_steps = steps;
  }

  static void report(const Outcome& outcome, bool created, Messages& messages) {
    const bool is_same = outcome.applied.empty() && !outcome.made_log && outcome.former_layout.empty() &&
                         !outcome.former_guard;
    messages.info(fmt::format("{} store '{}', deployment {}, layout {}",
                              created                   ? "created"
                              : is_same                 ? "up to date:"
                              : outcome.applied.empty() ? "changed"
                                                        : "upgraded",
                              outcome.store, outcome.deployment, outcome.layout));
    if (outcome.made_log) messages.info("made the log of changes anew");
    if (!outcome.applied.empty()) messages.info(fmt::format("applied {}", fmt::join(outcome.applied, ", ")));
    if (!outcome.applied.empty() && !created) {
      messages.info(fmt::format("programs that know schema version {} go on with it, older ones are refused",
                                outcome.minimum_reader));
    }
    if (outcome.schema_version > outcome.known_version) {
      messages.info(fmt::format("its schema has version {}; this program knows {}, and goes with it",
                                outcome.schema_version, outcome.known_version));
    }
    if (!outcome.former_layout.empty()) {
      messages.info(fmt::format("the layout was {}, and is {} now", outcome.former_layout, outcome.layout));
    }
    if (outcome.former_guard) {
      messages.info(fmt::format("tags left out {} steps after a failover, and leave out {} now",
                                *outcome.former_guard, *outcome.guard_steps));
    }
  }

  std::optional<std::string> runtime_role_;
  std::optional<std::string> layout_;
  std::optional<std::int64_t> guard_steps_;
  bool adopt_ = false;
  bool yes_ = false;
  bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_init_db() {
  return std::make_unique<InitDb>();
}

}  // namespace leafctl
