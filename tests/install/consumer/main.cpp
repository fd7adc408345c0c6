// What a program that embeds libleaf looks like: draws three IDs of each kind from the store in its first
// argument.

#include <cstdio>
#include <leaf/segment.hpp>
#include <leaf/snowflake.hpp>
#include <leaf/version.hpp>
#include <string>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    const leaf::StoreOptions options{.url = argv[1]};
    leaf::Store store(options);
    store.migrate();
    store.add_tag({.name = leaf::TagName("consumer")});

    leaf::SegmentAllocator allocator(options);
    leaf::SegmentTag tag = allocator.tag(leaf::TagName("consumer"));
    for (int i = 0; i < 3; ++i) std::printf("%lld\n", static_cast<long long>(tag.next()));

    leaf::SnowflakeOptions snowflake;
    snowflake.worker.owner = "consumer";
    leaf::SnowflakeGenerator generator(options, snowflake);
    for (int i = 0; i < 3; ++i) {
      if (!generator.layout().holds(generator.next())) return 1;
    }
    std::printf("libleaf %s\n", leaf::version());
  } catch (const leaf::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
  return 0;
}
