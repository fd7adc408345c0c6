#include "leaf/export.hpp"
#include "shell/builtin.hpp"
#include "shell/face.hpp"

#include <stdexcept>
#include <vector>

#include "zsh/zsh_headers.hpp"

namespace leaf::zsh {

namespace {

/// As they were given: zsh keeps some characters in two bytes of its own. On zsh's heap until the command
/// ends.
std::vector<const char*> words_of(char** arguments) {
  std::vector<const char*> words;
  for (; *arguments != nullptr; ++arguments) words.push_back(unmetafy(dupstring(*arguments), nullptr));
  return words;
}

int work(char** arguments) {
  int status = EXIT_FAILURE;
  try {
    status = shell::work(words_of(arguments));
  } catch (const std::exception& error) {
    shell::face::complain(error.what());
  }
  return shell::finish(status);
}

/// A trap waits until the command has ended: it may use the builtin itself.
int run(char*, char** arguments, Options, int) {
  queue_signals();
  const int status = work(arguments);
  unqueue_signals();
  return status;
}

/// What the module brings: one builtin.
struct features* features() {
  static struct builtin builtins[1] = {};
  static struct features features {};
  builtins[0].node.nam = const_cast<char*>("leaf");
  builtins[0].handlerfunc = run;
  builtins[0].maxargs = -1;
  features.bn_list = builtins;
  features.bn_size = 1;
  return &features;
}

}  // namespace

}  // namespace leaf::zsh

// What `zmodload` calls.
extern "C" {

LEAF_EXPORT int setup_(Module) {
  return 0;
}

LEAF_EXPORT int features_(Module module, char*** names) {
  *names = featuresarray(module, leaf::zsh::features());
  return 0;
}

LEAF_EXPORT int enables_(Module module, int** enabled) {
  return handlefeatures(module, leaf::zsh::features(), enabled);
}

LEAF_EXPORT int boot_(Module) {
  try {
    leaf::shell::load(LEAFCTL_FROM_MODULE);
    return 0;
  } catch (const std::exception& error) {
    leaf::shell::face::complain(error.what());
    return 1;
  }
}

LEAF_EXPORT int cleanup_(Module module) {
  return setfeatureenables(module, leaf::zsh::features(), nullptr);
}

LEAF_EXPORT int finish_(Module) {
  return 0;
}
}
