// One host that draws all the while, and writes down what it asked for and what it got: a line for each draw,
// "KIND BEGUN ENDED ID...", or "KIND BEGUN ENDED !CODE: WHAT WENT WRONG", times in microseconds of the steady
// clock. Kinds are `steady`, a tag whose segments last longer than an outage; `busy`, a tag that needs a
// segment every few moments, so that each outage hits a grant; and `snowflake`. It ends with its input.
// LEAFCTL_STORE and LEAFCTL_RUNTIME_DIR are set; the argument is the owner of its worker.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>
#include <string>
#include <thread>

#include "leaf/host_defaults.hpp"
#include "leaf/segment.hpp"
#include "leaf/snowflake.hpp"

namespace {

using std::chrono::steady_clock;

constexpr int ids_a_draw = 5;
constexpr auto between_draws = std::chrono::milliseconds(10);

std::int64_t microseconds() {
  return std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now().time_since_epoch())
      .count();
}

/// Draws until `end`, by `next()`.
template <typename Next>
void draw(const char* kind, const std::atomic<bool>& end, Next next) {
  static std::mutex output;
  for (auto due = steady_clock::now(); !end; std::this_thread::sleep_until(due)) {
    due = std::max(due + between_draws, steady_clock::now());
    std::string ids, error;
    const std::int64_t begun = microseconds();
    try {
      for (int i = 0; i < ids_a_draw; ++i) ids += fmt::format(" {}", next());
    } catch (const leaf::Error& failure) {
      error = fmt::format(" !{}: {}", static_cast<int>(failure.code()), failure.what());
    }
    const std::int64_t ended = microseconds();
    const std::lock_guard lock(output);
    // What came before a failure was given out too.
    if (!ids.empty()) fmt::print("{} {} {}{}\n", kind, begun, ended, ids);
    if (!error.empty()) fmt::print("{} {} {}{}\n", kind, begun, ended, error);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int, char** arguments) {
  try {
    const leaf::HostDefaults here = leaf::host_defaults();
    const leaf::StoreOptions store = here.store_options();
    leaf::SegmentAllocator steady(store, {.host = here.buffers()});
    leaf::SegmentAllocator busy(store, {.max_step = 100, .max_starved_step = 100, .host = here.buffers()});
    leaf::SnowflakeOptions options;
    options.worker.owner = arguments[1];
    options.host = here.buffers();
    leaf::SnowflakeGenerator generator(store, options);
    leaf::SegmentTag of_steady = steady.tag(leaf::TagName("steady"));
    leaf::SegmentTag of_busy = busy.tag(leaf::TagName("busy"));

    std::atomic<bool> end = false;
    std::jthread threads[] = {
        std::jthread([&] { draw("steady", end, [&] { return of_steady.next(); }); }),
        std::jthread([&] { draw("busy", end, [&] { return of_busy.next(); }); }),
        std::jthread([&] { draw("snowflake", end, [&] { return generator.next(); }); }),
    };
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    end = true;
  } catch (const std::exception& error) {
    fmt::print("- 0 0 !{}\n", error.what());
    return 1;
  }
}
