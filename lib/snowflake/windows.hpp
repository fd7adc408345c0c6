#pragma once

#include <functional>

#include "layout/positions.hpp"
#include "leaf/detail/double_buffer.hpp"

namespace leaf::snowflake {

/// Where a generator takes its windows from: its own memory, or the host's. For all threads.
class Windows {
 public:
  virtual ~Windows() = default;

  virtual const layout::Positions& positions() const noexcept = 0;
  /// May be another one after await().
  virtual range::DoubleBuffer& buffer() noexcept = 0;
  /// Has the next window leased in the background, if that is this process's to do.
  virtual void request() = 0;
  /// Returns once `ready()` is true. Throws Error where no window comes.
  virtual void await(const std::function<bool()>& ready) = 0;

  virtual bool claim_fetch() { return false; }
  virtual void fetch() {}
};

}  // namespace leaf::snowflake
