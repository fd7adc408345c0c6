// How near to its layout's ceiling a worker comes: bench_snowflake [SECONDS]
//
// One SQLite store of its own; one thread, two and four, drawing singly and in batches of 64. The ceiling is
// what the sequence bits allow in the time that passed.

#include <fmt/format.h>
#include <stdlib.h>

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
};

Run run(leaf::SnowflakeGenerator& generator, int threads, std::size_t batch, Seconds duration) {
  std::atomic<std::uint64_t> total{0};
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
          for (int i = 0; i < 1024; i += static_cast<int>(batch)) generator.next(std::span(ids).first(batch));
          drawn += 1024;
        }
        total += drawn;
      });
    }
  }
  return {total, std::chrono::steady_clock::now() - begun};
}

}  // namespace

int main(int argc, char** argv) {
  const Seconds duration(argc > 1 ? std::atof(argv[1]) : 2.0);
  std::string folder = (std::filesystem::temp_directory_path() / "leaf-bench-XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) return 1;
  const leaf::StoreOptions store{.url = "sqlite:" + folder + "/leaf.db"};
  leaf::Store(store).migrate();
  leaf::SnowflakeOptions options;
  options.worker.owner = "bench";
  {
    leaf::SnowflakeGenerator generator(store, options);
    const auto& layout = generator.layout();
    const double ceiling = static_cast<double>(layout.max_sequence() + 1) / Seconds(layout.unit()).count();
    fmt::print("layout {}, ceiling {:.0f} IDs/s\n", layout.name(), ceiling);
    fmt::print("{:>8} {:>6} {:>12} {:>10}\n", "threads", "batch", "IDs/s", "of ceiling");
    for (const int threads : {1, 2, 4}) {
      for (const std::size_t batch : {1U, 64U}) {
        const Run result = run(generator, threads, batch, duration);
        const double rate = static_cast<double>(result.ids) / result.took.count();
        fmt::print("{:>8} {:>6} {:>12.0f} {:>9.2f}%\n", threads, batch, rate, 100 * rate / ceiling);
      }
    }
  }
  std::filesystem::remove_all(folder);
}
