#include "shell/builtin.hpp"

#include <stdexcept>
#include <vector>

#include "bash/bash_headers.hpp"
#include "leaf/export.hpp"
#include "shell/face.hpp"
#include "shell/help.hpp"

namespace leaf::bash {

namespace {

std::vector<const char*> words_of(const WORD_LIST* list) {
  std::vector<const char*> words;
  for (; list != nullptr; list = list->next) words.push_back(list->word->word);
  return words;
}

}  // namespace

}  // namespace leaf::bash

extern "C" {

LEAF_EXPORT int leaf_builtin(WORD_LIST* list) {
  int status = EXECUTION_FAILURE;
  try {
    status = leaf::shell::work(leaf::bash::words_of(list));
  } catch (const std::exception& error) {
    leaf::shell::face::complain(error.what());
  }
  return leaf::shell::finish(status);
}

/// Called by `enable -f`.
LEAF_EXPORT int leaf_builtin_load(const char*) {
  try {
    leaf::shell::load("../../bin/leafctl");
    return 1;
  } catch (const std::exception& error) {
    leaf::shell::face::complain(error.what());
    return 0;
  }
}

LEAF_EXPORT struct builtin leaf_struct = {.name = const_cast<char*>("leaf"),
                                          .function = leaf_builtin,
                                          .flags = BUILTIN_ENABLED | ARRAYREF_BUILTIN,
                                          .long_doc = const_cast<char* const*>(leaf::shell::help_lines),
                                          .short_doc = leaf::shell::usage,
                                          .handle = nullptr};
}
