#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/declaration.hpp"
#include "leaf/error.hpp"
#include "leaf/host.hpp"
#include "leaf/store.hpp"
#include "settings/hinted_settings.hpp"
#include "settings/settings.hpp"
#include "terminal/fetch_log.hpp"
#include "terminal/messages.hpp"
#include "terminal/output.hpp"
#include "terminal/waiting_notice.hpp"

namespace leafctl {

/// What this program goes by in a database, whatever its file is called.
inline constexpr const char* program_name = "leafctl";

/// What a running command works with.
struct Session {
  const Configuration& configuration;
  Output& output;
  Messages& messages;
  int exit_status = 0;  ///< of the program, if nothing is thrown

  const Settings& settings() const { return configuration.settings; }
  /// With what this host remembers of grants, also where its buffers are not used.
  leaf::StoreOptions store_options() const {
    return {.url = settings().store,
            .timeout = settings().timeout,
            .program = program_name,
            .marks = settings().runtime_dir.empty() ? nullptr : leaf::host_marks(host_options())};
  }
  /// For IDs that nobody is given: this host remembers nothing of them.
  leaf::StoreOptions store_options_without_marks() const {
    return {.url = settings().store, .timeout = settings().timeout, .program = program_name};
  }
  /// Where this host's buffers lie; none if they are not to be used, or there is no place for them.
  std::optional<leaf::HostOptions> host() const {
    if (!settings().host_buffer || settings().runtime_dir.empty()) return std::nullopt;
    return host_options();
  }
  /// As host(), but whether the buffers are to be used or not. Only where there is a place for them.
  leaf::HostOptions host_options() const {
    return {.folder = settings().runtime_dir,
            .group = settings().group,
            .store_key = settings().store_key,
            .store_files = settings().store_files,
            .fetch_ahead = false,
            .on_fetch_change = [hinted = hinted_options_elsewhere(configuration)](
                                   const leaf::FetchChange& change) { log_fetch_change(change, hinted); }};
  }
  /// The configured store. Connects to nothing yet. Throws leaf::Error (usage) if its URL is none.
  /// Whoever waits for it on a terminal is told.
  leaf::Store store() const {
    leaf::StoreOptions options = store_options();
    options.while_asked = [&messages = messages, timeout = settings().timeout] {
      return std::make_shared<WaitingNotice>(messages, timeout);
    };
    return leaf::Store(options);
  }
};

/// One subcommand.
class Command {
 public:
  virtual ~Command() = default;

  /// Declares options, arguments, description and examples (as the footer). Does no I/O.
  virtual void declare(Declaration& command) = 0;

  /// The settings that have a flag on this command beside the global ones.
  virtual std::vector<std::string_view> setting_keys() const { return {}; }

  /// Does the work with what was parsed. Throws leaf::Error.
  virtual void run(Session& session) = 0;

  /// False for a command that never asks the configured store.
  virtual bool uses_store() const { return true; }

  /// False for a command that has to work even where the configuration is broken.
  virtual bool needs_settings() const { return true; }
};

using CommandFactory = std::unique_ptr<Command> (*)();

/// One line of the list of commands.
struct CommandEntry {
  const char* name;     ///< as typed; the words of a nested command are parted by a space
  const char* summary;  ///< for the list of commands in the help
  CommandFactory make;  ///< null for a group such as `tags`, which comes before its members
  bool hidden = false;  ///< not for people: the help does not list it
};

}  // namespace leafctl
