#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <exception>

#include "cli/command_line.hpp"
#include "cli/missing_store.hpp"
#include "commands.hpp"
#include "doctor/nagios.hpp"
#include "leaf/error.hpp"
#include "settings/hinted_settings.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/remedy_text.hpp"
#include "terminal/shortage.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

constexpr int failed = static_cast<int>(leaf::ErrorCode::failed);
constexpr int usage = static_cast<int>(leaf::ErrorCode::usage);

/// A closed standard stream would be the next file that is opened, such as the store's. The substitute
/// refuses use.
void fill_standard_streams() {
  for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; ++descriptor) {
    if (fcntl(descriptor, F_GETFD) == -1) {
      static_cast<void>(open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY));
    }
  }
}

/// What passes the limit of a file's size ('ulimit -f') fails with its cause then. Not ignored, which the
/// programs that this one runs would inherit.
void survive_file_size_limit() {
  std::signal(SIGXFSZ, [](int) {});
}

/// Other users see arguments in the list of processes.
void warn_of_password_in_argument(const Configuration& configuration, Messages& messages) {
  for (const SettingOrigin& setting : configuration.origins) {
    if (setting.origin != setting.setting->long_flag() || setting.shown() == setting.text) continue;
    messages.warning("the password in '" + setting.origin + "' can be seen by other users of this machine",
                     "keep it in a file that PGPASSFILE names"_hint);
  }
}

void configure(Messages& messages, const GlobalOptions& options, const Configuration& configuration) {
  if (options.verbose) messages.set_level(Messages::Level::verbose);
  if (options.quiet) messages.set_level(Messages::Level::quiet);
  messages.set_hinted_options(hinted_options_here(options));
  if (options.verbose) {
    for (const SettingOrigin& setting : configuration.origins) {
      messages.detail(std::string(setting.setting->key) + ": " + setting.shown() + " (" + setting.origin +
                      ")");
    }
  }
  warn_of_password_in_argument(configuration, messages);
}

/// Without the system's file a command could take another store for the one that is meant.
void require_known_store(const Configuration& configuration, const Command& command, Messages& messages) {
  const std::optional<leaf::Error>& unread = configuration.files.unread_file();
  if (!unread) return;
  if (command.uses_store() && !configuration.knows_store()) throw leaf::Error(*unread);
  messages.warning(unread->what(), hint_text(*unread));
}

int run_request(const Request& request, const GlobalOptions& options, OutputFile& file, Messages& messages) {
  const Environment environment = environment_of_this_process();
  Configuration configuration;
  if (request.command != nullptr && request.command->needs_settings()) {
    configuration = resolve_settings(options, environment);
  }
  const Settings& settings = configuration.settings;
  Output output(file, settings.output, use_color(settings.color, file.is_terminal(), environment));
  messages.set_able_terminal(has_able_terminal(environment));
  messages.set_color(use_color(settings.color, messages.is_terminal(), environment));
  configure(messages, options, configuration);

  Session session{configuration, output, messages};
  if (request.command == nullptr) {
    output.print_text(request.text);
  } else {
    require_known_store(configuration, *request.command, messages);
    try {
      request.command->run(session);
    } catch (const leaf::Error& error) {
      throw with_known_store(error, session);
    }
  }
  output.finish();
  return session.exit_status;
}

int run(std::vector<std::string> arguments, Messages& messages) {
  OutputFile file(STDOUT_FILENO, "standard output");
  OutputFile error_file(STDERR_FILENO, "standard error");
  CommandLine command_line(commands(), file.prose_width(), error_file.prose_width());
  const Request request = command_line.parse(std::move(arguments));
  if (request.incomplete) {
    error_file.write(request.text);
    return usage;
  }
  return run_request(request, command_line.options(), file, messages);
}

/// For a monitoring system, which reads standard output; an answer that cannot be written is none either.
int answer_unknown(std::string_view why) {
  try {
    OutputFile(STDOUT_FILENO, "standard output").write(nagios_unknown_line(why));
  } catch (const BrokenPipe&) {
  } catch (const leaf::Error&) {
  }
  return nagios_unknown;
}

/// Turns errors into text and an exit status. Throws Interrupted.
int run_and_report(std::vector<std::string> arguments) {
  OutputFile standard_error(STDERR_FILENO, "standard error");
  Messages messages(standard_error, use_color(ColorMode::automatic, standard_error.is_terminal(),
                                              environment_of_this_process()));
  const bool is_plugin = wants_nagios(arguments);
  try {
    return run(std::move(arguments), messages);
  } catch (const BrokenPipe&) {
    return failed;
  } catch (const leaf::Error& error) {
    messages.error(error);
    return is_plugin ? answer_unknown(error.what()) : static_cast<int>(error.code());
  } catch (const std::exception& error) {
    if (const auto shortage = shortage_of(error)) {
      messages.error(*shortage);
      return is_plugin ? answer_unknown(shortage->what()) : static_cast<int>(shortage->code());
    }
    messages.error(std::string("unexpected: ") + error.what());
    return is_plugin ? answer_unknown(error.what()) : failed;
  }
}

}  // namespace

}  // namespace leafctl

int main(int argc, char** argv) {
  using namespace leafctl;
  fill_standard_streams();
  survive_file_size_limit();
  survive_lack_of_memory();
  try {
    // Nothing is freed piece by piece: all output is written, and the kernel is quicker with the rest.
    std::_Exit(run_and_report({argv + (argc > 0 ? 1 : 0), argv + argc}));
  } catch (const Interrupted& interrupted) {
    die_of(interrupted.signal);
  }
}
