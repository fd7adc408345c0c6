#include <fmt/format.h>

#include <algorithm>

#include "cli/declaration.hpp"
#include "commands.hpp"
#include "doctor/check_text.hpp"
#include "doctor/host_checks.hpp"
#include "doctor/nagios.hpp"
#include "doctor/store_checks.hpp"
#include "doctor/supply_checks.hpp"
#include "leaf/error.hpp"
#include "terminal/hint_text.hpp"
#include "terminal/remedy_text.hpp"
#include "text/hint.hpp"
#include "text/time_text.hpp"

namespace leafctl {

namespace {

bool has_failed(const Check& check) {
  return check.state == CheckState::failed;
}

void append(Checks& checks, Checks more) {
  std::ranges::move(more, std::back_inserter(checks));
}

class Doctor : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Checks the store, its durability and clock, this user's rights and this host's buffers, and "
        "forecasts when tags, workers and timestamps run out. Changes nothing. If the store is out of reach, "
        "the checks that need it are left out.");
    command.add_flag("--exit-code", exit_code_, "exit with 1 if a check failed; warnings do not count");
    command.add_text_option("--format", "nagios", format_,
                            "print one line and exit with 0 to 3, as Nagios and Icinga expect");
    command.add_examples(
        "Prints check, state (ok, warning or failed), detail and hint: what to do. A\n"
        "check may print several lines. In a pipe they are tab-separated, followed by\n"
        "the subject, such as a tag, and measures, which are numbers by name; with -o\n"
        "json the keys are the same.\n\n"
        "With --format nagios the exit status is 0 if all is well, 1 after a warning,\n"
        "2 if a check failed and 3 if nothing could be checked.\n\n"
        "Examples:\n"
        "  leafctl doctor\n"
        "  leafctl doctor --exit-code\n"
        "  leafctl doctor --format nagios\n"
        "  leafctl doctor -o json | jq -r 'select(.state != \"ok\").hint'");
  }

  std::vector<std::string_view> setting_keys() const override {
    std::vector<std::string_view> keys{"layout", "worker_name", "max_skew", "recycle_after"};
    keys.insert(keys.end(), host_setting_keys.begin(), host_setting_keys.end());
    return keys;
  }

  void run(Session& session) override {
    if (format_ && !is_nagios())
      throw leaf::Error(leaf::ErrorCode::usage, fmt::format("'--format' takes nagios, not '{}'", *format_));
    HostFindings host = look_at_host(session.host(), session.settings().host_buffer);
    Checks checks;
    const auto asked = check_store(checks, session, host.buffers);
    checks.push_back(host.folder);
    append(checks, folder_checks(session.settings().runtime_dir, environment_of_this_process()));
    append(checks, buffer_checks(host.buffers, asked));
    if (!session.settings().runtime_dir.empty()) append(checks, lost_mark_checks(session.host_options()));
    append(checks, window_checks(host.buffers, current_time(), worker_policy(session.settings())));
    for (Check& check : checks) check.hint = with_option(check.hint, session.messages.hinted_option());
    if (is_nagios()) {
      session.output.print_text(nagios_line(checks));
      session.exit_status = nagios_status(checks);
      return;
    }
    print(checks, session.output);
    const auto failed = std::ranges::count_if(checks, has_failed);
    if (!exit_code_ || failed == 0) return;
    session.output.flush();
    throw leaf::Error(leaf::ErrorCode::failed, fmt::format("{} of {} checks failed", failed, checks.size()));
  }

 private:
  bool is_nagios() const { return format_ == "nagios"; }

  /// Nothing if it does not answer all that is asked. `buffers` are looked at anew once it is known which of
  /// them are of this store.
  static std::optional<AskedStore> check_store(Checks& checks, const Session& session,
                                               std::vector<leaf::HostBuffer>& buffers) {
    const Settings& settings = session.settings();
    const std::string shown = leaf::redact_url(settings.store);
    std::optional<leaf::Store> store;
    leaf::StoreHealth health;
    try {
      store.emplace(session.store());
      health = store->health();
    } catch (const leaf::Error& error) {
      checks.push_back({"connection", CheckState::failed, error.what(),
                        error.hint().empty() ? "see 'leafctl show-config' for the store that is used"_hint
                                             : hint_text(error)});
      return std::nullopt;
    }
    checks.push_back({"connection", CheckState::ok, fmt::format("store '{}'", shown)});
    append(checks, store_checks(health, settings.max_skew));
    try {
      if (const auto host = session.host()) {
        append(checks, name_checks(settings.store, *host, *store));
        if (!buffers.empty()) buffers = leaf::host_buffers(*host);
      }
      check_supply(checks, *store, health.time.value_or(current_time()), settings, buffers);
      append(checks, mark_checks(*store, health));
      append(checks, lost_tag_checks(*store));
      AskedStore asked{.identity = store->identity(), .tags = {}, .checks = checks};
      for (leaf::Tag& tag : store->tags()) asked.tags.push_back(std::move(tag.name));
      return asked;
    } catch (const leaf::Error& error) {
      // One of the checks above may have told why.
      if (std::ranges::none_of(checks, has_failed))
        checks.push_back({"connection", CheckState::failed, error.what(), hint_text(error)});
    }
    return std::nullopt;
  }

  static void check_supply(Checks& checks, leaf::Store& store, leaf::UnixTime now, const Settings& settings,
                           const std::vector<leaf::HostBuffer>& buffers) {
    append(checks, tag_checks(store.tags(), tags_on_host(buffers, store.identity())));
    const leaf::Layout layout = store.layout();
    checks.push_back(layout_check(layout, settings.layout, now));
    append(checks,
           worker_checks(store.workers(), layout, store.worker_range(), now, worker_policy(settings)));
  }

  static void print(const Checks& checks, Output& output) {
    if (output.format() == OutputFormat::text && output.is_terminal()) {
      output.print_text(check_table(checks, output.has_color(), output.prose_width()));
    } else {
      output.print_list(check_columns, checks);
    }
  }

  bool exit_code_ = false;
  std::optional<std::string> format_;
};

}  // namespace

std::unique_ptr<Command> make_doctor() {
  return std::make_unique<Doctor>();
}

}  // namespace leafctl
