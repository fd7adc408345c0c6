#include "range/refiller.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <future>
#include <latch>
#include <optional>

#include "support/error_of.hpp"
#include "support/manual_clock.hpp"
#include "support/sqlite_store.hpp"

using namespace std::chrono_literals;
using leaf::Error;
using leaf::ErrorCode;
using leaf::Range;
using leaf::Store;
using leaf::range::Refillable;
using leaf::range::RefilledBuffer;
using leaf::range::Refiller;
using leaf::test::error_code;
using leaf::test::ManualClock;
using leaf::test::SqliteStore;

namespace {

/// Each fetch fails with the given code; the first waits until it is let go.
class Failing final : public Refillable {
 public:
  explicit Failing(ErrorCode code) : code_(code) {}

  bool wants_fetch() override { return true; }
  bool is_used_up() override { return false; }
  std::string what() const override { return "range"; }
  void fetch(Store&) override {
    const int number = ++fetches;
    if (number == 1) {
      begun.count_down();
      let_go.wait();
    }
    throw Error(code_, "attempt " + std::to_string(number));
  }

  std::atomic<int> fetches{0};
  std::latch begun{1};
  std::latch let_go{1};

 private:
  const ErrorCode code_;
};

/// What a caller is told who comes while the first attempt is under way. Time stands still.
std::optional<ErrorCode> told_during_an_attempt(ErrorCode failure, std::chrono::milliseconds timeout) {
  const SqliteStore file;
  ManualClock clock;
  auto options = file.options();
  options.clock = &clock;
  Failing buffer(failure);
  Refiller refiller(options, {.timeout = timeout, .max_threads = 1, .on_failure = {}});
  refiller.request(buffer);
  buffer.begun.wait();
  auto told = std::async(std::launch::async,
                         [&] { return error_code([&] { refiller.await(buffer, [] { return false; }); }); });
  clock.wait_for_sleepers(1);
  buffer.let_go.count_down();
  if (told.wait_for(60s) != std::future_status::ready) {
    clock.advance(timeout + 1h);  // it waits for a time that nobody promised
    told.wait();
    return std::nullopt;
  }
  CHECK(buffer.fetches == 2);
  return told.get();
}

}  // namespace

TEST_CASE("refiller: who comes during an attempt that fails has another one made, not the pause waited for") {
  CHECK(told_during_an_attempt(ErrorCode::unavailable, 0ms) == ErrorCode::unavailable);
  CHECK(told_during_an_attempt(ErrorCode::not_found, 5s) == ErrorCode::not_found);
}

TEST_CASE(
    "refiller: what is buffered is given up once its store's name leads elsewhere, looked at each minute") {
  struct Buffer final : RefilledBuffer {
    using RefilledBuffer::note_granted_by;
    using RefilledBuffer::RefilledBuffer;
    leaf::range::Refill refill(Store&) override { throw Error(ErrorCode::unavailable, "away"); }
    std::string what() const override { return "range"; }
  };
  const SqliteStore file;
  Store here = file.open();
  ManualClock clock;
  const auto left_after = [&](const leaf::StoreIdentity& granted_by) {
    Buffer buffer(clock);
    buffer.buffer.publish(Range{1, 101}, 50, 0);
    buffer.note_granted_by(granted_by);
    buffer.check(here);
    buffer.buffer.take(1);
    clock.advance(leaf::range::name_lasts);
    buffer.check(here);
    buffer.buffer.take(1);
    buffer.check(here);
    CHECK(buffer.buffer.view().rest.empty() == (granted_by != here.identity()));
    return buffer.buffer.view().rest.size();
  };
  CHECK(left_after(here.identity()) == 98);
  auto copy = here.identity();
  copy.copy = "elsewhere";
  CHECK(left_after(copy) == 0);
}
