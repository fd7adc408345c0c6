#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "cli/declaration.hpp"
#include "commands.hpp"
#include "doctor/check_text.hpp"
#include "doctor/examination.hpp"
#include "doctor/nagios.hpp"
#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

bool has_failed(const Check& check) {
  return check.state == CheckState::failed;
}

class Doctor : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Checks the store, its durability and clock, this user's rights and this host's buffers, and "
        "forecasts when tags, workers and timestamps run out. Changes nothing, except that it records "
        "which store the name currently points to. If the store is out of reach, the checks that need it are "
        "left "
        "out.");
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
    Checks checks = examine(
        session, [&session] { return session.store(); }, Asker::doctor);
    for (Check& check : checks) {
      for (std::string* const text : {&check.detail, &check.hint})
        *text = session.messages.with_hinted_options(*text);
    }
    if (is_nagios()) {
      session.output.print_text(nagios_line(checks));
      session.exit_status = nagios_status(checks);
      return;
    }
    print(checks, session.output);
    if (!exit_code_ || std::ranges::none_of(checks, has_failed)) return;
    session.output.flush();
    // A check may print several lines.
    std::set<std::string_view> all_names;
    std::set<std::string_view> failed_names;
    for (const Check& check : checks) {
      all_names.insert(check.name);
      if (has_failed(check)) failed_names.insert(check.name);
    }
    throw leaf::Error(leaf::ErrorCode::failed,
                      fmt::format("{} of {} checks failed", failed_names.size(), all_names.size()));
  }

 private:
  bool is_nagios() const { return format_ == "nagios"; }

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
