#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>

#include "bash/bash_headers.hpp"
#include "bash/command.hpp"
#include "bash/environment_key.hpp"
#include "bash/leafctl_process.hpp"
#include "bash/memory_draws.hpp"
#include "bash/shell.hpp"
#include "leaf/detail/rfc3339.hpp"
#include "leaf/error.hpp"
#include "leaf/id_form.hpp"

namespace leaf::bash {

namespace {

/// For as long a shell goes by what it has found: then files, folders and settings are looked at anew.
constexpr std::int64_t lasts_ns = 1'000'000'000;

std::int64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// What this shell has found out last.
class Memory {
 public:
  /// By the settings as they are now; null where leafctl has to say what is wrong with them.
  MemoryDraws* get() {
    char* const* const environment = shell::environment();
    if (draws_ && now_ns() - found_ns_ < lasts_ns && key_.is_of(environment, shell::folder()))
      return draws_.get();
    forget();
    try {
      key_ = EnvironmentKey(environment, shell::folder());
      draws_ = std::make_unique<MemoryDraws>(
          [environment](const char* name) { return variable_of(environment, name); });
      found_ns_ = now_ns();
    } catch (const Error&) {
    }
    return draws_.get();
  }

  void forget() {
    // A number that is another file's by now must not be closed.
    if (draws_ && !draws_->has_its_files()) static_cast<void>(draws_.release());
    draws_.reset();
  }

 private:
  std::unique_ptr<MemoryDraws> draws_;
  EnvironmentKey key_;
  std::int64_t found_ns_ = 0;
};

/// What lasts from one command to the next. Never destroyed: the shell may draw while it ends, and leaves a
/// command by longjmp().
struct State {
  Memory memory;
  std::string leafctl;
  Command command;
  std::array<std::int64_t, most_from_memory> ids{};
  std::vector<std::string> values;
  std::vector<std::pair<const char*, std::string>> parts;
};

State& state() {
  static State& state = *new State;
  return state;
}

std::span<const std::int64_t> drawn(const Command& command) {
  return std::span(state().ids).first(command.count);
}

/// Into state().ids.
bool draw(const Command& command) {
  MemoryDraws* const memory = state().memory.get();
  if (memory == nullptr || (command.variable == nullptr && memory->has_output_form())) return false;
  const auto ids = std::span(state().ids).first(command.count);
  if (command.kind == Command::Kind::tag ? memory->draw_of_tag(command.tag, ids)
                                         : memory->draw_snowflakes(ids))
    return true;
  state().memory.forget();
  return false;
}

int assign_ids(const Command& command) {
  const auto ids = drawn(command);
  if (!command.has_count) {
    const fmt::format_int digits(ids.front());
    return shell::assign(command.variable, digits.c_str());
  }
  auto& values = state().values;
  values.clear();
  for (const std::int64_t id : ids) values.push_back(fmt::format_int(id).str());
  return shell::assign_array(command.variable, values);
}

/// Into state().parts; false where leafctl has to say what is wrong.
bool decode(const Command& command) {
  MemoryDraws* const memory = state().memory.get();
  if (memory == nullptr) return false;
  const Layout& layout = memory->layout();
  const auto id = parse_id(command.id, layout);
  if (!id) return false;
  auto& parts = state().parts;
  const UnixTime time = layout.time_of(*id);
  static thread_local std::array<std::string, Layout::max_fields> names;
  parts.clear();
  parts.emplace_back("id", fmt::format_int(*id).str());
  parts.emplace_back("layout", layout.name());
  parts.emplace_back("time", detail::format_rfc3339(time));
  parts.emplace_back("unix_ms", fmt::format_int(time.time_since_epoch().count()).str());
  for (std::size_t i = 0; i < layout.fields().size(); ++i) {
    const LayoutField& field = layout.fields()[i];
    if (field.role() == LayoutField::Role::time) continue;
    names[i] = field.name();
    parts.emplace_back(names[i].c_str(), fmt::format_int(field.of(*id)).str());
  }
  return true;
}

/// Into state().values: the lines that leafctl has printed.
void keep_lines(std::string_view output) {
  auto& values = state().values;
  values.clear();
  while (!output.empty()) {
    const auto end = std::min(output.find('\n'), output.size());
    values.emplace_back(output.substr(0, end));
    output.remove_prefix(std::min(end + 1, output.size()));
  }
}

/// The exit status of leafctl, or of the shell where that could not be run.
int run_leafctl(const Command& command) {
  shell::flush_output();
  const auto ended = run(state().leafctl, command.for_leafctl, shell::environment(),
                         command.variable == nullptr ? Output::shown : Output::kept);
  if (!ended) {
    shell::complain(fmt::format("'{}' cannot be run: {}", state().leafctl, std::strerror(errno)).c_str());
    return EXECUTION_FAILURE;
  }
  if (ended->status == 0 && command.variable != nullptr) keep_lines(ended->output);
  return ended->status;
}

int assign_lines(const Command& command) {
  const auto& values = state().values;
  if (!command.has_count && values.size() == 1)
    return shell::assign(command.variable, values.front().c_str());
  return shell::assign_array(command.variable, values);
}

enum class Next { assign_ids, assign_parts, assign_lines, print_ids, end };

/// All but what may leave by longjmp(); what is left to be done is in `next`.
int work(const WORD_LIST* list, Next& next) {
  Command& command = state().command;
  std::vector<const char*> words;
  for (; list != nullptr; list = list->next) words.push_back(list->word->word);
  parse(words, command);
  next = Next::end;
  if (command.has_variable_option && command.variable == nullptr) {
    shell::complain("-v: option requires an argument");
    return shell::show_usage();
  }
  if (command.variable != nullptr) {
    const bool is_scalar = command.kind != Command::Kind::decode && !command.has_count;
    if (const int refused = shell::refuse_variable(command.variable, is_scalar); refused != 0) return refused;
  }
  const bool is_draw = command.kind == Command::Kind::tag || command.kind == Command::Kind::snowflakes;
  if (is_draw && draw(command)) {
    next = command.variable == nullptr ? Next::print_ids : Next::assign_ids;
    return EXECUTION_SUCCESS;
  }
  if (command.kind == Command::Kind::decode && decode(command)) {
    next = Next::assign_parts;
    return EXECUTION_SUCCESS;
  }
  const int status = run_leafctl(command);
  if (status == 0 && command.variable != nullptr) next = Next::assign_lines;
  return status;
}

int finish(Next next, int status) {
  const Command& command = state().command;
  switch (next) {
    case Next::assign_ids:
      return assign_ids(command);
    case Next::assign_parts:
      return shell::assign_map(command.variable, state().parts);
    case Next::assign_lines:
      return assign_lines(command);
    case Next::print_ids:
      return shell::print(drawn(command));
    case Next::end:
      break;
  }
  return status;
}

}  // namespace

}  // namespace leaf::bash

extern "C" {

LEAF_EXPORT int leaf_builtin(WORD_LIST* list) {
  using namespace leaf::bash;
  if (list == nullptr) return shell::show_usage();
  if (std::strcmp(list->word->word, "--help") == 0) {
    builtin_help();
    return EX_USAGE;
  }
  Next next = Next::end;
  int status = EXECUTION_FAILURE;
  try {
    status = work(list, next);
  } catch (const std::exception& error) {
    shell::complain(error.what());
  }
  return finish(next, status);
}

/// Called by `enable -f`.
LEAF_EXPORT int leaf_builtin_load(const char*) {
  try {
    Dl_info self{};
    if (dladdr(reinterpret_cast<const void*>(&leaf_builtin_load), &self) == 0) return 0;
    const auto file = std::filesystem::canonical(self.dli_fname);
    leaf::bash::state().leafctl = leaf::bash::leafctl_of(file.parent_path().string());
    return 1;
  } catch (const std::exception& error) {
    leaf::bash::shell::complain(error.what());
    return 0;
  }
}

static const char* const long_doc[] = {
    "Draw unique 64-bit IDs, without a process.",
    "",
    "Takes the commands of leafctl(1), and goes by the same store, settings and",
    "environment. IDs that this host has buffered are drawn by the shell itself;",
    "for all else, such as a tag's next segment, leafctl is run.",
    "",
    "    leaf next TAG           the next ID of a tag",
    "    leaf next --snowflake   a snowflake ID",
    "    leaf decode ID          what a snowflake ID holds",
    "",
    "Options of 'next' and 'decode':",
    "  -v VAR    assign to VAR rather than print: of 'next' the ID, or with -n an",
    "            array of IDs; of 'decode' an associative array with the keys id,",
    "            layout, time, unix_ms, worker, sequence (those of the layout)",
    "  -n N      draw N IDs",
    "",
    "Other options are those of leafctl-next(1) and leafctl-decode(1), where the",
    "short -v is --verbose.",
    "",
    "Exit Status:",
    "That of leafctl: 0 done, 1 failed, 2 usage, 3 store out of reach, 4 no such",
    "tag, 5 refused, 6 exhausted. 1 also if VAR is read-only.",
    nullptr};

LEAF_EXPORT struct builtin leaf_struct = {
    .name = const_cast<char*>("leaf"),
    .function = leaf_builtin,
    .flags = BUILTIN_ENABLED | ARRAYREF_BUILTIN,
    .long_doc = const_cast<char* const*>(long_doc),
    .short_doc =
        "leaf next [-v VAR] [-n N] {TAG | --snowflake} or leaf decode [-v VAR] ID or leaf COMMAND [ARG ...]",
    .handle = nullptr};
}
