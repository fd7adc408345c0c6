// A C++ program beside leafctl: draws an ID of the tag in its first argument as libleaf says that programs of
// this host do. A second argument names the store.

#include <cstdio>

#include "leaf/host_defaults.hpp"
#include "leaf/segment.hpp"

int main(int argc, char** argv) try {
  if (argc < 2) return 2;
  leaf::HostChoices choices;
  if (argc > 2) choices.store = {argv[2], "argument 2"};
  const leaf::HostDefaults defaults = leaf::host_defaults(choices);
  leaf::SegmentAllocator allocator(defaults.store_options(), {.host = defaults.buffers()});
  std::printf("%lld\n", static_cast<long long>(allocator.tag(leaf::TagName(argv[1])).next()));
} catch (const leaf::Error& error) {
  std::fprintf(stderr, "%s\nhint: %s\n", error.what(), error.hint().c_str());
  return static_cast<int>(error.code());
}
