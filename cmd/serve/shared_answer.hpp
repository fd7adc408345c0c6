#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "leaf/error.hpp"
#include "serve/jobs.hpp"

namespace leafctl::serve {

/// The answer to a question that may take as long as the store does. It is asked once for all who want to
/// know meanwhile. Thread safe.
class SharedAnswer {
 public:
  struct Answer {
    std::string text{};
    std::optional<leaf::Error> error{};
  };
  using Told = std::function<void(const Answer&)>;
  using Ticket = std::uint64_t;

  /// `jobs` is borrowed. `find` runs in one of its threads, never twice at the same time, and may throw.
  SharedAnswer(Jobs& jobs, std::function<std::string()> find) : jobs_(jobs), find_(std::move(find)) {}

  /// `told` is called in `loop`, unless forget() is called before. `loop` is borrowed.
  Ticket ask(boost::asio::io_context& loop, Told told);
  void forget(Ticket ticket);

 private:
  struct Asker {
    boost::asio::io_context* loop;
    Told told;
  };

  void find();

  Jobs& jobs_;
  const std::function<std::string()> find_;
  std::mutex mutex_;
  std::map<Ticket, Asker> askers_;
  Ticket last_ = 0;
  bool is_asked_ = false;
};

/// A question that is asked, until it is answered or this goes. For one loop's thread.
class Awaited {
 public:
  Awaited() = default;
  ~Awaited() { forget(); }
  Awaited(const Awaited&) = delete;
  Awaited& operator=(const Awaited&) = delete;

  /// `told` is not called behind forget().
  void ask(SharedAnswer& shared, boost::asio::io_context& loop, SharedAnswer::Told told);
  void forget();

 private:
  SharedAnswer* shared_ = nullptr;
  SharedAnswer::Ticket ticket_ = 0;
  std::shared_ptr<bool> is_awaited_;  ///< the answer may be on its way to the loop
};

}  // namespace leafctl::serve
