// What mixed_storm.hpp asks of a program, in C++.
#include <cinttypes>
#include <cstdio>
#include <exception>

#include "leaf/host_defaults.hpp"
#include "leaf/segment.hpp"
#include "leaf/snowflake.hpp"

int main() {
  try {
    const leaf::HostDefaults here = leaf::host_defaults();
    leaf::SegmentAllocator allocator(here.store_options(), {.host = here.buffers()});
    leaf::SegmentTag tag = allocator.tag(leaf::TagName("storm"));
    leaf::SnowflakeOptions options;
    options.worker.owner = "storm";
    options.host = here.buffers();
    leaf::SnowflakeGenerator generator(here.store_options(), options);
    for (int count = 0; std::scanf("%d", &count) == 1; std::puts("."), std::fflush(stdout)) {
      for (int i = 0; i < count; ++i) {
        std::printf("t%" PRId64 "\n", tag.next());
        if (i % 4 == 0) std::printf("s%" PRId64 "\n", generator.next());
      }
    }
    return 0;
  } catch (const std::exception& error) {
    std::puts(error.what());
    return 1;
  }
}
