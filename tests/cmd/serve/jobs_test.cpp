#include "serve/jobs.hpp"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "leaf/error.hpp"
#include "serve/shared_answer.hpp"

namespace {

using namespace leafctl::serve;

/// Jobs with one thread, which is held up until release().
class HeldJobs {
 public:
  HeldJobs() {
    std::promise<void> begun;
    jobs.add([&begun, released = released_.get_future().share()] {
      begun.set_value();
      released.wait();
    });
    begun.get_future().wait();
  }
  ~HeldJobs() {
    if (!is_released_) released_.set_value();
  }
  void release() {
    is_released_ = true;
    released_.set_value();
  }

 private:
  std::promise<void> released_;
  bool is_released_ = false;

 public:
  Jobs jobs{1};
};

/// Returns when all jobs of before have ended.
void finish(Jobs& jobs) {
  std::promise<void> done;
  jobs.add([&done] { done.set_value(); });
  done.get_future().wait();
}

}  // namespace

TEST_CASE("jobs are done in their order, those taken back never") {
  std::vector<int> done;
  HeldJobs held;
  held.jobs.add([&] { done.push_back(1); });
  const Jobs::Ticket second = held.jobs.add([&] { done.push_back(2); });
  const Jobs::Ticket third = held.jobs.add([&] { done.push_back(3); });
  held.jobs.add([&] { done.push_back(4); });
  CHECK(held.jobs.take_back(second));
  CHECK_FALSE(held.jobs.take_back(second));
  CHECK_FALSE(held.jobs.replace(second, [&] { done.push_back(5); }));
  CHECK(held.jobs.replace(third, [&] { done.push_back(6); }));
  held.release();
  finish(held.jobs);
  CHECK(done == std::vector<int>{1, 6, 4});
  CHECK_FALSE(held.jobs.take_back(third));
}

TEST_CASE("a job that waits keeps no other one from a thread of its own") {
  Jobs jobs(2);
  std::promise<void> first;
  jobs.add([&] { first.get_future().wait(); });
  finish(jobs);
  first.set_value();
}

TEST_CASE("at the end no job begins any more") {
  bool is_done = false;
  {
    HeldJobs held;
    held.jobs.add([&] { is_done = true; });
    std::thread end([&] { held.jobs.end(); });
    while (held.jobs.add([] {}) != 0) std::this_thread::yield();
    held.release();
    end.join();
  }
  CHECK_FALSE(is_done);
}

TEST_CASE("a question is asked once for all who want to know meanwhile, and told to those who still do") {
  HeldJobs held;
  int asked = 0;
  SharedAnswer shared(held.jobs, [&] { return std::to_string(++asked); });
  boost::asio::io_context loop;
  std::vector<std::string> told;
  const auto tell = [&](const SharedAnswer::Answer& answer) { told.push_back(answer.text); };
  Awaited first;
  Awaited second;
  Awaited third;
  first.ask(shared, loop, tell);
  second.ask(shared, loop, tell);
  third.ask(shared, loop, tell);
  second.forget();
  held.release();
  finish(held.jobs);
  third.forget();
  loop.run();
  CHECK(told == std::vector<std::string>{"1"});
  first.ask(shared, loop, tell);
  finish(held.jobs);
  loop.restart();
  loop.run();
  CHECK(told == std::vector<std::string>{"1", "2"});
}

TEST_CASE("what goes wrong with a question is told too") {
  Jobs jobs(1);
  SharedAnswer shared(jobs, []() -> std::string { throw leaf::Error(leaf::ErrorCode::refused, "no"); });
  boost::asio::io_context loop;
  std::string told;
  Awaited awaited;
  awaited.ask(shared, loop, [&](const SharedAnswer::Answer& answer) { told = answer.error.value().what(); });
  finish(jobs);
  loop.run();
  CHECK(told == "no");
}
