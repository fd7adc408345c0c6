#include <fmt/format.h>

#include <limits>

#include "cli/declaration.hpp"
#include "commands.hpp"
#include "doctor/supply_checks.hpp"
#include "init_db/functions.hpp"
#include "init_db/outcome.hpp"
#include "leaf/detail/counted.hpp"
#include "leaf/error.hpp"
#include "leaf/health.hpp"
#include "settings/store_folder.hpp"
#include "tags/buffered_ids.hpp"
#include "tags/granted_marks.hpp"
#include "terminal/confirmation.hpp"
#include "text/hint.hpp"
#include "text/time_text.hpp"
#include "workers/worker_range.hpp"

namespace leafctl {

namespace {

/// A copy that has become a deployment of its own.
struct NewDeployment {
  std::string store;
  std::string deployment;
  std::string former_deployment;
};

constexpr Column<NewDeployment> deployment_columns[] = {
    {"store", [](const NewDeployment& made) -> Cell { return made.store; }},
    {"deployment", [](const NewDeployment& made) -> Cell { return made.deployment; }},
    {"former_deployment", [](const NewDeployment& made) -> Cell { return made.former_deployment; }},
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
        "Creates the store's tables, or upgrades them. Run again, it does nothing, except that it "
        "recreates a missing change log. Leaf's own table 'leaf_alloc' is taken over with its rows.");
    command.add_text_option("--layout", "LAYOUT", layout_,
                            "how snowflake IDs are divided, as for 'leafctl decode'; cannot change once a "
                            "worker has been leased (default: unchanged, leaf in a new store)");
    command.add_text_option("--workers", "FIRST-LAST", workers_,
                            "lease only these workers, such as 0-511, or all; a store with others makes no "
                            "snowflake ID that this one makes (default: unchanged, all in a new store)");
    command.add_text_option("--runtime-role", "NAME", runtime_role_,
                            "let this role of the database draw IDs and lease workers; its other rights on "
                            "the tables are revoked (PostgreSQL only)");
    command.add_integer_option(
        "--guard-steps", "N", guard_steps_, {0, std::numeric_limits<std::int32_t>::max()},
        "steps that a tag leaves out after a failover or restore: the database may have lost grants; 0 for "
        "none (PostgreSQL only; default: unchanged, 100 in a new store)");
    command.add_text_option_or_flag(
        "--functions", "[SCHEMA]", functions_,
        "install SQL functions such as leaf_time(id) and leaf_next(tag) in this schema "
        "(PostgreSQL only; default: that of the tables)");
    command.add_flag(
        "--adopt", adopt_,
        "take over what another role has made, dropping what would run its code; shows it and asks first "
        "(PostgreSQL only)");
    command.add_flag("--new-deployment", new_deployment_,
                     "make a copy of a store a deployment of its own; its IDs may never be mixed with the "
                     "original's; asks first");
    command.add_flag("--yes", yes_,
                     "do not ask; required with --adopt and --new-deployment where there is no terminal");
    command.add_flag("--dry-run", dry_run_, "print the SQL and change nothing");
    command.add_examples(
        "Programs draw IDs best as a runtime role, which is neither superuser nor the\n"
        "tables' owner. It reads the store and uses 'leafctl next' and 'leafctl workers';\n"
        "it cannot add, change or remove tags, lower a counter, or set the layout or the\n"
        "workers. It can still exhaust counters and free or withhold workers; drawing and\n"
        "leasing require these rights.\n\n"
        "A copy of a store, such as one for tests, shares what each host remembers of IDs\n"
        "that were granted: after a host draws from one copy, it refuses the other as if\n"
        "it had been restored from a backup. With --new-deployment in the copy they have\n"
        "nothing in common any more.\n\n"
        "The functions take IDs apart as 'leafctl decode' does, and draw them in a\n"
        "transaction of yours: DEFAULT leaf_next('order'). If the transaction rolls\n"
        "back, its ID is handed out again.\n\n"
        "Examples:\n"
        "  leafctl init-db\n"
        "  leafctl init-db --layout twitter\n"
        "  leafctl init-db --workers 0-511\n"
        "  leafctl init-db --store service=ids --runtime-role shop\n"
        "  leafctl init-db --store service=ids --functions app\n"
        "  leafctl init-db --store postgresql://db.example.org/ids --dry-run");
  }

  std::vector<std::string_view> setting_keys() const override {
    return {host_setting_keys.begin(), host_setting_keys.end()};
  }

  void run(Session& session) override {
    if (new_deployment_) {
      begin_deployment(session);
      return;
    }
    if (dry_run_) {
      require_no_settings();
      print_script(session);
    } else {
      migrate(session);
    }
  }

 private:
  void begin_deployment(Session& session) const {
    const std::pair<const char*, bool> others[] = {{"--layout", layout_.has_value()},
                                                   {"--workers", workers_.has_value()},
                                                   {"--runtime-role", runtime_role_.has_value()},
                                                   {"--guard-steps", guard_steps_.has_value()},
                                                   {"--functions", functions_.has_value()},
                                                   {"--adopt", adopt_},
                                                   {"--dry-run", dry_run_}};
    for (const auto& [other, is_given] : others) {
      if (is_given)
        throw leaf::Error(leaf::ErrorCode::usage,
                          fmt::format("'--new-deployment' and '{}' exclude each other", other));
    }
    Messages& messages = session.messages;
    const std::string shown = leaf::redact_url(session.settings().store);
    leaf::Store store = session.store();
    const leaf::StoreIdentity former = store.identity();
    if (!yes_) {
      require_terminal_to_ask("making the store a deployment of its own", messages);
      require_yes(fmt::format("make store '{}' a deployment of its own? Only for a copy: if its IDs are "
                              "mixed with those of deployment {}, they repeat",
                              shown, former.deployment),
                  "nothing was changed", messages);
    }
    const leaf::StoreIdentity now = store.begin_new_deployment(former.deployment);
    leave_deployment(former, store, session);
    messages.info(
        fmt::format("store '{}' is deployment {} now, and was {}", shown, now.deployment, former.deployment));
    messages.info("never mix its IDs with those of the original: they repeat");
    messages.info("other hosts and names discard what they have buffered from it within a minute");
    if (session.output.format() == OutputFormat::json)
      session.output.print_one(deployment_columns, NewDeployment{shown, now.deployment, former.deployment});
    renew_functions_of_new_deployment(store, messages);
  }

  /// Last: whoever did all of it again would have yet another deployment.
  static void renew_functions_of_new_deployment(leaf::Store& store, Messages& messages) {
    try {
      renew_functions(store, messages);
    } catch (const leaf::Error& error) {
      throw leaf::Error(
          error.code(),
          fmt::format("the functions for SQL are still of the former deployment: {}", error.what()),
          "renew them with 'leafctl init-db'"_hint);
    }
  }

  /// What is no SQL for somebody else to run.
  void require_no_settings() const {
    const auto refuse = [](const char* option, const auto& value, const char* what) {
      throw leaf::Error(
          leaf::ErrorCode::usage, fmt::format("'--dry-run' and '{}' exclude each other", option),
          fmt::format("the SQL creates the tables; 'leafctl init-db {} {}' then sets the {}"_hint, option,
                      value, what));
    };
    if (layout_) refuse("--layout", *layout_, "layout");
    if (workers_) refuse("--workers", *workers_, "workers");
    if (guard_steps_) refuse("--guard-steps", *guard_steps_, "guard");
  }

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
    if (functions_) {
      pieces.push_back({0, "functions", store.functions_script(*functions_)});
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
    const auto workers =
        workers_ ? parse_worker_range("--workers", *workers_) : std::optional<leaf::WorkerRange>();
    leaf::Store store = session.store();
    // Before anything is changed: not every store has roles and a server.
    if (runtime_role_) store.runtime_role_script(*runtime_role_);
    if (guard_steps_) store.require_guard_steps(*guard_steps_);
    if (functions_) store.functions_script(*functions_);
    create_default_store_folder(session.configuration);
    prepare_shared_store(session.settings());
    warn_of_former_store(session);
    InitOutcome outcome;
    outcome.store = leaf::redact_url(session.settings().store);
    outcome.runtime_role = runtime_role_;
    const auto adopted =
        adopt_ ? confirmed_adoption(store, session.messages) : std::vector<leaf::ForeignObject>();
    const auto applied = store.migrate(adopted, {.layout = layout,
                                                 .workers = workers,
                                                 .guard_steps = guard_steps_,
                                                 .runtime_role = runtime_role_,
                                                 .functions = functions_});
    share_store(session.settings());
    for (const leaf::ForeignObject& object : adopted) outcome.adopted.push_back(object.remedy);
    const bool created = !applied.empty() && applied.front().number == 1;
    if (layout && !created) warn_of_missing_marks(session);
    set_pool(store, layout, workers, created, outcome);
    outcome.guard_steps = store.guard_steps();
    if (guard_steps_ && !created) set_guard(store, *guard_steps_, outcome);
    for (const leaf::Migration& migration : applied) {
      if (migration.number > 0)
        outcome.applied.push_back(fmt::format("{:04}_{}", migration.number, migration.name));
      outcome.made_log = outcome.made_log || migration.name == "event_log";
      outcome.turned_on = outcome.turned_on || (migration.number == 0 && migration.name == "triggers");
    }
    outcome.deployment = store.identity().deployment;
    const leaf::StoreHealth health = store.health();
    outcome.schema_version = health.schema_version.value_or(0);
    outcome.minimum_reader = health.minimum_reader;
    outcome.known_version = health.newest_schema_version;
    if (created) forget_former_store(session);
    report(outcome, created, session.messages);
    if (created || layout) warn_of_time(store.layout(), session.messages);
    if (runtime_role_) {
      if (!created) store.grant_runtime_role(*runtime_role_);
      session.messages.info(
          fmt::format("role '{}' may draw IDs and lease workers, and no more", *runtime_role_));
    }
    if (functions_) {
      outcome.functions.push_back(store.install_functions(*functions_));
      session.messages.info(fmt::format(
          "installed functions in schema '{}': leaf_time, leaf_worker, leaf_sequence, leaf_id_at, "
          "leaf_bounds, leaf_next",
          outcome.functions.back()));
    }
    for (const std::string& schema : renew_functions(store, session.messages))
      outcome.functions.push_back(schema);
    if (runtime_role_ || functions_) warn_of_creators(store, session.messages);
    if (session.output.format() == OutputFormat::json) print(outcome, session.output);
  }

  std::vector<leaf::ForeignObject> confirmed_adoption(leaf::Store& store, Messages& messages) const {
    auto found = store.foreign_objects();
    if (found.empty()) return found;
    for (const leaf::ForeignObject& object : found) {
      messages.info(fmt::format("{} of role '{}': {}", object.what, object.owner,
                                object.remedy.empty() ? "not taken over" : object.remedy));
    }
    if (yes_) return found;
    const std::string objects = leaf::detail::counted(static_cast<std::int64_t>(found.size()), "object");
    require_terminal_to_ask(fmt::format("taking over {} of other roles", objects), messages);
    require_yes(fmt::format("take over or drop {} of other roles?", objects), "nothing was taken over",
                messages);
    return found;
  }

  /// The layout and the workers, where they were given; a new store was made with them.
  void set_pool(leaf::Store& store, const std::optional<leaf::Layout>& layout,
                const std::optional<leaf::WorkerRange>& workers, bool created, InitOutcome& outcome) const {
    const leaf::Layout former_layout = store.layout();
    const leaf::WorkerRange former_workers = store.worker_range();
    if (!created) change_pool(store, layout, workers);
    const leaf::Layout now = store.layout();
    outcome.layout = now.name();
    outcome.workers = store.worker_range();
    outcome.has_all_workers = has_all_workers(outcome.workers, now);
    if (created) return;
    if (now != former_layout) outcome.former_layout = former_layout.name();
    // All of a layout are others with another one.
    if (workers_ && outcome.workers != former_workers) outcome.former_workers = former_workers;
  }

  void change_pool(leaf::Store& store, const std::optional<leaf::Layout>& layout,
                   const std::optional<leaf::WorkerRange>& workers) const {
    if (layout && workers_) {
      store.set_layout(*layout, workers);
    } else if (layout) {
      store.set_layout(*layout);
    } else if (workers_) {
      store.set_worker_range(workers);
    }
  }

  /// It may have been chosen to take IDs apart, so it is not refused.
  static void warn_of_time(const leaf::Layout& layout, Messages& messages) {
    const Check check = layout_check(layout, {}, current_time());
    if (check.state == CheckState::ok) return;
    messages.warning(
        check.detail,
        "if snowflake IDs are to be made, choose another layout with 'leafctl init-db --layout LAYOUT'"_hint);
  }

  static void set_guard(leaf::Store& store, std::int64_t steps, InitOutcome& outcome) {
    store.set_guard_steps(steps);
    if (outcome.guard_steps != steps) outcome.former_guard = outcome.guard_steps;
    outcome.guard_steps = steps;
  }

  std::optional<std::string> runtime_role_;
  std::optional<std::string> layout_;
  std::optional<std::string> workers_;
  std::optional<std::int64_t> guard_steps_;
  std::optional<std::string> functions_;  ///< empty: where the tables are
  bool adopt_ = false;
  bool new_deployment_ = false;
  bool yes_ = false;
  bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<Command> make_init_db() {
  return std::make_unique<InitDb>();
}

}  // namespace leafctl
