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

#include "leaf/leaf.h"
#include "leaf/segment.hpp"

namespace {

/// A store with one tag, in a folder that goes with it, and an allocator on it.
class Bench {
 public:
  Bench() {
    std::string pattern = "/dev/shm/leaf-bench-XXXXXX";
    folder_ = mkdtemp(pattern.data());
    const leaf::StoreOptions options{.url = "sqlite:" + (folder_ / "leaf.db").string()};
    leaf::Store store(options);
    store.migrate();
    store.add_tag({.name = name_, .step = leaf::max_step});
    allocator_ = std::make_unique<leaf::SegmentAllocator>(options);
    leaf_options in_c{};
    in_c.size = sizeof in_c;
    in_c.use_host_defaults = LEAF_NO;
    in_c.store = options.url.c_str();
    allocator_in_c_ = leaf_allocator_open(&in_c, nullptr);
    tag_in_c_ = leaf_allocator_tag(allocator_in_c_, name_.str().c_str(), nullptr);
  }
  ~Bench() {
    leaf_tag_close(tag_in_c_);
    leaf_allocator_close(allocator_in_c_);
    allocator_.reset();
    std::filesystem::remove_all(folder_);
  }

  leaf::SegmentTag tag() { return allocator_->tag(name_); }
  leaf_tag* tag_in_c() { return tag_in_c_; }

 private:
  const leaf::TagName name_{"bench"};
  std::filesystem::path folder_;
  std::unique_ptr<leaf::SegmentAllocator> allocator_;
  leaf_allocator* allocator_in_c_ = nullptr;
  leaf_tag* tag_in_c_ = nullptr;
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

void next_one_in_c(benchmark::State& state) {
  leaf_tag* const tag = bench().tag_in_c();
  draw_singly(state, [&] {
    std::int64_t id = 0;
    if (leaf_tag_next(tag, &id, nullptr) != LEAF_OK) state.SkipWithError("no ID");
    return id;
  });
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
BENCHMARK(next_one_in_c)->UseRealTime();
BENCHMARK(next_64)->UseRealTime();
BENCHMARK(next_64)->Threads(2)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
