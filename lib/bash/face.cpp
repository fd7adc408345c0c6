#include "shell/face.hpp"
#include "bash/bash_headers.hpp"

#include <cinttypes>
#include <cstdio>
#include <cstring>

extern "C" {
// Of trap.h and variables.h, which are not installed or leave them out.
int signal_is_ignored(int signal);
extern int array_needs_making;
}

namespace leaf::shell::face {

namespace {

char* writable(const char* text) {
  return const_cast<char*>(text);
}

/// What a variable of this name leads to where it is a reference, which may be an element; empty if that is
/// nothing.
const char* target_of(const char* name) {
  const SHELL_VAR* const variable = find_variable_noref(name);
  if (variable == nullptr || nameref_p(variable) == 0) return name;
  const SHELL_VAR* const last = find_variable_last_nameref(name, 1);
  const char* const target = last == nullptr ? nullptr : nameref_cell(last);
  return target == nullptr ? "" : target;
}

bool is_element(const char* name) {
  return valid_array_reference(name, 0) != 0;
}

bool took_it(const SHELL_VAR* variable) {
  return variable != nullptr && !readonly_p(variable) && !noassign_p(variable);
}

}  // namespace

char* const* environment() {
  if (array_needs_making != 0) maybe_make_export_env();
  return export_env;
}

std::string_view folder() {
  return the_current_working_directory == nullptr ? "" : the_current_working_directory;
}

bool ignores(int signal) {
  return signal_is_ignored(signal) != 0;
}

int signal_to_end() {
  return LASTSIG();
}

void complain(const char* text) {
  builtin_error("%s", text);
}

int refuse_variable(const char* name, Value value) {
  const std::string own(name, std::strcspn(name, "["));
  const char* const target = target_of(own.c_str());
  const std::string base(target, std::strcspn(target, "["));
  const bool is_plain = own == name;
  const bool leads_to_variable = legal_identifier(target) != 0;
  const bool is_element_of_one =
      is_plain ? !leads_to_variable && is_element(target) : leads_to_variable && is_element(name);
  const bool is_valid = (is_plain && leads_to_variable) || (is_element_of_one && value == Value::text);
  if (!is_valid || legal_identifier(target_of(base.c_str())) == 0) {
    sh_invalidid(writable(name));
    return EX_USAGE;
  }
  const SHELL_VAR* const known = find_variable(base.c_str());
  if (known == nullptr) return EXECUTION_SUCCESS;
  if (readonly_p(known)) {
    err_readonly(name);
    return EXECUTION_FAILURE;
  }
  if (noassign_p(known)) {
    builtin_error("%s: cannot be assigned to", name);
    return EXECUTION_FAILURE;
  }
  if (value == Value::list && assoc_p(known)) {
    builtin_error("%s: cannot convert associative to indexed array", name);
    return EXECUTION_FAILURE;
  }
  return EXECUTION_SUCCESS;
}

int assign(const char* name, const char* value) {
  const bool is_taken = took_it(builtin_bind_variable(writable(name), writable(value), 0));
  return is_taken ? EXECUTION_SUCCESS : EXECUTION_FAILURE;
}

int assign_array(const char* name, std::span<const std::string> values) {
  SHELL_VAR* const array = find_or_make_array_variable(writable(name), 1);
  if (array == nullptr) return EXECUTION_FAILURE;
  array_flush(array_cell(array));
  VUNSETATTR(array, att_invisible);
  arrayind_t index = 0;
  for (const std::string& value : values) bind_array_element(array, index++, writable(value.c_str()), 0);
  return EXECUTION_SUCCESS;
}

int assign_map(const char* name, std::span<const std::pair<const char*, std::string>> values) {
  SHELL_VAR* const map = find_or_make_array_variable(writable(name), 1 | 2);
  if (map == nullptr) return EXECUTION_FAILURE;
  assoc_flush(assoc_cell(map));
  VUNSETATTR(map, att_invisible);
  for (const auto& [key, value] : values) {
    auto* const own_key = static_cast<char*>(xmalloc(std::strlen(key) + 1));  // becomes the shell's
    bind_assoc_variable(map, writable(name), std::strcpy(own_key, key), writable(value.c_str()), 0);
  }
  return EXECUTION_SUCCESS;
}

int print(std::span<const std::int64_t> numbers) {
  for (const std::int64_t number : numbers) std::printf("%" PRId64 "\n", number);
  return sh_chkwrite(EXECUTION_SUCCESS);
}

void flush_output() {
  std::fflush(stdout);
}

int show_usage() {
  builtin_usage();
  return EX_USAGE;
}

int show_help() {
  builtin_help();
  return EX_USAGE;
}

}  // namespace leaf::shell::face
