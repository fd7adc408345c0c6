// How near to its layout's ceiling a worker comes, and what an ID costs: bench_snowflake [SECONDS [LAYOUT]]
//
// One SQLite store of its own; one thread, two and four, drawing singly and in batches of 64. The ceiling is
// what the sequence bits allow in the time that passed; with 41,2,20 there is none in the way. Of time, the
// processor's counts, of all threads; where the ceiling is reached that is mostly waiting.

#include <fmt/format.h>
#include <stdlib.h>
#include <time.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "leaf/snowflake.hpp"

namespace {

using Seconds = std::chrono::duration<double>;

struct Run {
  std::uint64_t ids = 0;
  Seconds took{};
  Seconds processor{};
};

Seconds processor_time() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return Seconds(static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9);
}

std::atomic<std::uint64_t> counter{0};

/// What a step takes that is done again and again.
template <typename Step>
double ns_of(const Step& step) {
  constexpr int times = 20'000'000;
  const Seconds before = processor_time();
  for (int i = 0; i < times; ++i) step();
  return (processor_time() - before).count() * 1e9 / times;
}

/// A floor, in the same run: an atomic increment that nobody else makes.
double atomic_add_ns() {
  return ns_of([] { counter.fetch_add(1); });
}

/// The floor of an ID whose time is a tick late at most: besides, a look at whether the kernel's coarse clock
/// has ticked.
double atomic_add_and_tick_ns() {
  return ns_of([] {
    timespec time{};
    clock_gettime(CLOCK_REALTIME_COARSE, &time);
    counter.fetch_add(1 + static_cast<std::uint64_t>(time.tv_nsec & 1));
  });
}

Run run(leaf::SnowflakeGenerator& generator, int threads, std::size_t batch, Seconds duration) {
  std::atomic<std::uint64_t> total{0};
  const Seconds before = processor_time();
  const auto begun = std::chrono::steady_clock::now();
  const auto end = begun + std::chrono::duration_cast<std::chrono::steady_clock::duration>(duration);
  {
    std::vector<std::jthread> drawers;
    for (int t = 0; t < threads; ++t) {
      drawers.emplace_back([&] {
        std::array<std::int64_t, 64> ids{};
        std::uint64_t drawn = 0;
        while (std::chrono::steady_clock::now() < end) {
          // A thousand or so between two looks at the clock.
          if (batch == 1) {
            for (int i = 0; i < 1024; ++i) ids[0] = generator.next();
          } else {
            for (int i = 0; i < 1024; i += static_cast<int>(batch))
              generator.next(std::span(ids).first(batch));
          }
          drawn += 1024;
        }
        total += drawn;
      });
    }
  }
  return {total, std::chrono::steady_clock::now() - begun, processor_time() - before};
}

}  // namespace

int main(int argc, char** argv) {
  const Seconds duration(argc > 1 ? std::atof(argv[1]) : 2.0);
  std::string folder = "/dev/shm/leaf-bench-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const leaf::StoreOptions store{.url = "sqlite:" + folder + "/leaf.db"};
  {
    leaf::Store made(store);
    made.migrate();
    if (argc > 2) made.set_layout(leaf::Layout::parse(argv[2]));
  }
  leaf::SnowflakeOptions options;
  options.worker.owner = "bench";
  {
    leaf::SnowflakeGenerator generator(store, options);
    const auto& layout = generator.layout();
    const double ceiling = static_cast<double>(layout.max_sequence() + 1) / Seconds(layout.unit()).count();
    fmt::print("layout {}, ceiling {:.0f} IDs/s\n", layout.name(), ceiling);
    fmt::print("an atomic add takes {:.1f} ns\n", atomic_add_ns());
    fmt::print("after a look at the coarse clock it takes {:.1f} ns\n", atomic_add_and_tick_ns());
    fmt::print("{:>8} {:>6} {:>12} {:>10} {:>8}\n", "threads", "batch", "IDs/s", "of ceiling", "ns/ID");
    for (const int threads : {1, 2, 4}) {
      for (const std::size_t batch : {1U, 64U}) {
        const Run result = run(generator, threads, batch, duration);
        const double rate = static_cast<double>(result.ids) / result.took.count();
        fmt::print("{:>8} {:>6} {:>12.0f} {:>9.2f}% {:>8.1f}\n", threads, batch, rate, 100 * rate / ceiling,
                   result.processor.count() * 1e9 / static_cast<double>(result.ids));
      }
    }
  }
  std::filesystem::remove_all(folder);
}
