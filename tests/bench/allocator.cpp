// How long one ID takes, through a tag's handle, from segments of 1,000,000 in a SQLite store of its own.
//
//   bench_allocator [--benchmark_repetitions=5 ...]
//
// `atomic add` is the floor: an uncontended atomic increment on the same machine in the same run.

#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <string>

#include "leaf/segment.hpp"

namespace {

/// A store with one tag, in a folder that goes with it, and an allocator on it.
class Bench {
 public:
  Bench() {
    std::string pattern = (std::filesystem::temp_directory_path() / "leaf-bench-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    const leaf::StoreOptions options{.url = "sqlite:" + (folder_ / "leaf.db").string()};
    leaf::Store store(options);
    store.migrate();
    store.add_tag({.name = name_, .step = leaf::max_step});
    allocator_ = std::make_unique<leaf::SegmentAllocator>(options);
  }
  ~Bench() {
    allocator_.reset();
    std::filesystem::remove_all(folder_);
  }

  leaf::SegmentTag tag() { return allocator_->tag(name_); }

 private:
  const leaf::TagName name_{"bench"};
  std::filesystem::path folder_;
  std::unique_ptr<leaf::SegmentAllocator> allocator_;
};

Bench& bench() {
  static Bench instance;
  return instance;
}

constexpr benchmark::IterationCount block = 1000;

// Draws in blocks, so that the loop of the benchmark library does not count.
template <typename Draw>
void draw_singly(benchmark::State& state, Draw draw) {
  while (state.KeepRunningBatch(block)) {
    std::int64_t sum = 0;
    for (benchmark::IterationCount i = 0; i < block; ++i) sum += draw();
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations());
}

void atomic_add(benchmark::State& state) {
  static std::atomic<std::int64_t> counter{0};
  draw_singly(state, [&] { return counter.fetch_add(1); });
}

void next_one(benchmark::State& state) {
  leaf::SegmentTag tag = bench().tag();
  draw_singly(state, [&] { return tag.next(); });
}

void next_64(benchmark::State& state) {
  leaf::SegmentTag tag = bench().tag();
  std::array<std::int64_t, 64> ids{};
  for (auto _ : state) {
    tag.next(ids);
    // Each ID is looked at, as by a caller that draws a batch to hand its IDs out one by one.
    for (const std::int64_t id : ids) benchmark::DoNotOptimize(id);
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(ids.size()));
}

BENCHMARK(atomic_add);
BENCHMARK(next_one)->UseRealTime();
BENCHMARK(next_one)->Threads(2)->UseRealTime();
BENCHMARK(next_64)->UseRealTime();
BENCHMARK(next_64)->Threads(2)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
