#include "shell/builtin.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "leaf/detail/rfc3339.hpp"
#include "leaf/error.hpp"
#include "leaf/id_form.hpp"
#include "shell/command.hpp"
#include "shell/environment_key.hpp"
#include "shell/face.hpp"
#include "shell/leafctl_process.hpp"
#include "shell/memory_draws.hpp"

namespace leaf::shell {

namespace {

constexpr int usage_status = 2;
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
    char* const* const environment = face::environment();
    if (draws_ && now_ns() - found_ns_ < lasts_ns && key_.is_of(environment, face::folder()))
      return draws_.get();
    forget();
    try {
      key_ = EnvironmentKey(environment, face::folder());
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

/// What is left to be done where nothing is in use that has to be destroyed.
enum class Next { assign_ids, assign_parts, assign_lines, print_ids, show_usage, show_help, end };

/// What lasts from one command to the next. Never destroyed: the shell may draw while it ends, and leaves a
/// command by longjmp().
struct State {
  Memory memory;
  Next next = Next::end;
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
    return face::assign(command.variable, digits.c_str());
  }
  auto& values = state().values;
  values.clear();
  for (const std::int64_t id : ids) values.push_back(fmt::format_int(id).str());
  return face::assign_array(command.variable, values);
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
  static auto& names = *new std::array<std::string, Layout::max_fields>;
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

/// What is assigned has the form that it has from memory, unless the command itself names another.
std::vector<char*> with_plain_output(char* const* environment) {
  constexpr const char* plain = "LEAFCTL_OUTPUT=text";
  std::vector<char*> all{const_cast<char*>(plain)};
  for (; *environment != nullptr; ++environment) {
    if (!std::string_view(*environment).starts_with("LEAFCTL_OUTPUT=")) all.push_back(*environment);
  }
  all.push_back(nullptr);
  return all;
}

/// The exit status of leafctl, or of the shell where that could not be run.
int run_leafctl(const Command& command) {
  face::flush_output();
  const bool is_shown = command.variable == nullptr;
  const std::vector<char*> plain = with_plain_output(face::environment());
  const auto ended = run(state().leafctl, command.for_leafctl, is_shown ? face::environment() : plain.data(),
                         is_shown ? Output::shown : Output::kept);
  if (!ended) {
    face::complain(fmt::format("'{}' cannot be run: {}", state().leafctl, std::strerror(errno)).c_str());
    return EXIT_FAILURE;
  }
  if (ended->status == 0 && command.variable != nullptr) keep_lines(ended->output);
  return ended->status;
}

int assign_lines(const Command& command) {
  const auto& values = state().values;
  if (!command.has_count && values.size() == 1) return face::assign(command.variable, values.front().c_str());
  return face::assign_array(command.variable, values);
}

}  // namespace

void load(std::string_view leafctl) {
  // By what no other module has too: of names that are exported the first one counts, whosever it is.
  const auto* const own = reinterpret_cast<const void*>(&state);
  Dl_info module{};
  if (dladdr(own, &module) == 0) throw std::runtime_error("this module's file is not known");
  const auto folder = std::filesystem::canonical(module.dli_fname).parent_path();
  state().leafctl = (folder / leafctl).lexically_normal().string();
}

int work(std::span<const char* const> words) {
  Next& next = state().next;
  Command& command = state().command;
  if (words.empty()) {
    next = Next::show_usage;
    return EXIT_FAILURE;
  }
  if (std::strcmp(words.front(), "--help") == 0) {
    next = Next::show_help;
    return EXIT_FAILURE;
  }
  parse(words, command);
  if (command.has_variable_option && command.variable == nullptr) {
    face::complain("-v: option requires an argument");
    next = Next::show_usage;
    return EXIT_FAILURE;
  }
  if (command.variable != nullptr && command.kind == Command::Kind::other &&
      std::strcmp(words.front(), "decode") == 0) {
    face::complain("decode: -v takes one ID and no other options; to choose a layout, set LEAFCTL_LAYOUT");
    return usage_status;
  }
  if (command.variable != nullptr) {
    const face::Value value = command.kind == Command::Kind::decode ? face::Value::map
                              : command.has_count                   ? face::Value::list
                                                                    : face::Value::text;
    if (const int refused = face::refuse_variable(command.variable, value); refused != 0) return refused;
  }
  const bool is_draw = command.kind == Command::Kind::tag || command.kind == Command::Kind::snowflakes;
  if (is_draw && draw(command)) {
    next = command.variable == nullptr ? Next::print_ids : Next::assign_ids;
    return EXIT_SUCCESS;
  }
  if (command.kind == Command::Kind::decode && decode(command)) {
    next = Next::assign_parts;
    return EXIT_SUCCESS;
  }
  const int status = run_leafctl(command);
  if (status == 0 && command.variable != nullptr) next = Next::assign_lines;
  return status;
}

int finish(int status) {
  const Command& command = state().command;
  switch (std::exchange(state().next, Next::end)) {
    case Next::assign_ids:
      return assign_ids(command);
    case Next::assign_parts:
      return face::assign_map(command.variable, state().parts);
    case Next::assign_lines:
      return assign_lines(command);
    case Next::print_ids:
      return face::print(drawn(command));
    case Next::show_usage:
      return face::show_usage();
    case Next::show_help:
      return face::show_help();
    case Next::end:
      break;
  }
  return status;
}

}  // namespace leaf::shell
