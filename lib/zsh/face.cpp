#include "shell/face.hpp"

#include <algorithm>
#include <cerrno>
#include <cinttypes>

#include "shell/environment_key.hpp"
#include "shell/help.hpp"
#include "zsh/zsh_headers.hpp"

namespace leaf::shell::face {

namespace {

constexpr int usage_status = 2;
const char* const name_of_builtin = "leaf";

Param find(const std::string& name) {
  return reinterpret_cast<Param>(paramtab->getnode(paramtab, name.c_str()));
}

/// In the encoding that zsh has its own texts in, and on its heap until the command ends. It may be changed.
char* own_text(const char* text) {
  return metafy(const_cast<char*>(text), static_cast<int>(std::strlen(text)), META_HEAPDUP);
}

/// In the memory and the encoding that parameters are kept in.
char* parameter_text(const std::string& text) {
  return metafy(const_cast<char*>(text.data()), static_cast<int>(text.size()), META_DUP);
}

/// Ends with a null pointer, and belongs to who it is given to.
char** new_list(std::size_t size) {
  auto** const list = static_cast<char**>(zalloc((size + 1) * sizeof(char*)));
  list[size] = nullptr;
  return list;
}

int refuse_to_convert(const char* name, const char* from, const char* to) {
  zwarnnam(name_of_builtin, "%s: cannot convert %s to %s array", name, from, to);
  return EXIT_FAILURE;
}

int status_of(Param assigned) {
  return assigned == nullptr ? EXIT_FAILURE : EXIT_SUCCESS;
}

/// Into `texts`, as NAME=value: what an assignment before the builtin has set. zsh exports it to functions
/// and programs, not to builtins; it looks like any other parameter that is not exported.
void find_unexported(std::vector<std::string>& texts) {
  texts.clear();
  for (int i = 0; i < paramtab->hsize; ++i) {
    for (HashNode node = paramtab->nodes[i]; node != nullptr; node = node->next) {
      if ((node->flags & (PM_EXPORTED | PM_UNSET | PM_ARRAY | PM_HASHED)) != 0) continue;
      if (!leads_to_store(node->nam)) continue;
      // As text, whether it is a number or not: so zsh exports it.
      if (const char* const value = getsparam(node->nam); value != nullptr)
        texts.push_back(std::string(node->nam) + '=' + unmetafy(dupstring(value), nullptr));
    }
  }
}

/// Whether `entry`, NAME=value, is of a variable that is assigned in `texts` too.
bool is_hidden(const char* entry, const std::vector<std::string>& texts) {
  const std::size_t length = std::strcspn(entry, "=") + 1;
  return std::ranges::any_of(
      texts, [&](const std::string& text) { return text.compare(0, length, entry, length) == 0; });
}

}  // namespace

char* const* environment() {
  static auto& texts = *new std::vector<std::string>;
  static auto& all = *new std::vector<char*>;
  find_unexported(texts);
  if (texts.empty()) return environ;
  all.clear();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!is_hidden(*entry, texts)) all.push_back(*entry);
  }
  for (std::string& text : texts) all.push_back(text.data());
  all.push_back(nullptr);
  return all.data();
}

std::string_view folder() {
  return pwd == nullptr ? "" : pwd;
}

bool ignores(int signal) {
  return (sigtrapped[signal] & ZSIG_IGNORED) != 0;
}

/// The shell's signals wait until the builtin has ended. One from the terminal goes to leafctl as well.
int signal_to_end() {
  return 0;
}

void complain(const char* text) {
  zwarnnam(name_of_builtin, "%s", own_text(text));
}

int refuse_variable(const char* text, Value value) {
  char* const name = own_text(text);
  if (isident(name) == 0 || (value != Value::text && std::strchr(name, '[') != nullptr)) {
    zwarnnam(name_of_builtin, "not an identifier: %s", name);
    return usage_status;
  }
  const std::string base(name, std::strcspn(name, "["));
  const Param known = find(base);
  if (known == nullptr) return EXIT_SUCCESS;
  if ((known->node.flags & PM_READONLY) != 0) {
    zwarnnam(name_of_builtin, "read-only variable: %s", name);
    return EXIT_FAILURE;
  }
  if ((known->node.flags & PM_UNSET) != 0) return EXIT_SUCCESS;
  const bool is_array = PM_TYPE(known->node.flags) == PM_ARRAY;
  const bool is_map = PM_TYPE(known->node.flags) == PM_HASHED;
  // Others become what is assigned to them.
  const bool stays = (known->node.flags & (PM_SPECIAL | PM_TIED)) != 0;
  if (stays &&
      ((value == Value::list && !is_array && !is_map) || (value == Value::text && is_map && base == name))) {
    zwarnnam(name_of_builtin, "%s: cannot be assigned to", name);
    return EXIT_FAILURE;
  }
  if (value == Value::list && is_map) return refuse_to_convert(name, "associative", "indexed");
  if (value == Value::map && is_array) return refuse_to_convert(name, "indexed", "associative");
  // A float has 53 bits for an ID's 63, and a width cuts what is longer.
  if ((known->node.flags & (PM_EFLOAT | PM_FFLOAT | PM_LEFT | PM_RIGHT_B | PM_RIGHT_Z)) == 0)
    return EXIT_SUCCESS;
  zwarnnam(name_of_builtin, "%s: a variable with this type or width would change an ID", name);
  return usage_status;
}

int assign(const char* name, const char* value) {
  return status_of(setsparam(own_text(name), parameter_text(value)));
}

int assign_array(const char* name, std::span<const std::string> values) {
  char** const list = new_list(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) list[i] = parameter_text(values[i]);
  return status_of(setaparam(own_text(name), list));
}

int assign_map(const char* name, std::span<const std::pair<const char*, std::string>> values) {
  char** const list = new_list(2 * values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    list[2 * i] = parameter_text(values[i].first);
    list[2 * i + 1] = parameter_text(values[i].second);
  }
  return status_of(sethparam(own_text(name), list));
}

int print(std::span<const std::int64_t> numbers) {
  for (const std::int64_t number : numbers) std::printf("%" PRId64 "\n", number);
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return EXIT_SUCCESS;
  zwarnnam(name_of_builtin, "write error: %e", errno);
  std::clearerr(stdout);
  return EXIT_FAILURE;
}

void flush_output() {
  std::fflush(stdout);
}

int show_usage() {
  std::fprintf(stderr, "%s: usage: %s\n", name_of_builtin, usage);
  return usage_status;
}

int show_help() {
  std::printf("%s: %s\n", name_of_builtin, usage);
  for (const char* const* line = help_lines; *line != nullptr; ++line)
    std::printf("%s%s\n", **line == '\0' ? "" : "    ", *line);
  std::fflush(stdout);
  return usage_status;
}

}  // namespace leaf::shell::face
