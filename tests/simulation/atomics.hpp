#pragma once

/// Read before each file of the library in the simulator's build: each step of an atomic is a point where
/// another thread may run. There is one real thread, so plain memory does; what weaker memory orders allow,
/// tests/models looks at.

// Whatever includes the standard's <atomic>, before the name takes another meaning.
#include <bits/stdc++.h>
#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include "simulation/point.hpp"

namespace leaf::simulation {

template <typename T>
class Atomic {
  using Where = std::source_location;

 public:
  static constexpr bool is_always_lock_free = true;

  constexpr Atomic() noexcept = default;
  constexpr Atomic(T value) noexcept : value_(value) {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(std::memory_order = std::memory_order_seq_cst, Where where = Where::current()) const noexcept {
    point(where);
    note_read(this);
    return value_;
  }
  void store(T value, std::memory_order = std::memory_order_seq_cst,
             Where where = Where::current()) noexcept {
    point(where);
    note_write(this);
    value_ = value;
  }
  T exchange(T value, std::memory_order = std::memory_order_seq_cst,
             Where where = Where::current()) noexcept {
    point(where);
    note_write(this);
    return std::exchange(value_, value);
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order = std::memory_order_seq_cst,
                               std::memory_order = std::memory_order_seq_cst,
                               Where where = Where::current()) noexcept {
    point(where);
    if (value_ == expected) {
      note_write(this);
      value_ = desired;
      return true;
    }
    note_read(this);
    expected = value_;
    return false;
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success = std::memory_order_seq_cst,
                             std::memory_order failure = std::memory_order_seq_cst,
                             Where where = Where::current()) noexcept {
    return compare_exchange_strong(expected, desired, success, failure, where);
  }
  T fetch_add(T more, std::memory_order = std::memory_order_seq_cst,
              Where where = Where::current()) noexcept {
    point(where);
    note_write(this);
    return std::exchange(value_, static_cast<T>(value_ + more));
  }
  T fetch_sub(T less, std::memory_order = std::memory_order_seq_cst,
              Where where = Where::current()) noexcept {
    point(where);
    note_write(this);
    return std::exchange(value_, static_cast<T>(value_ - less));
  }
  T operator++() noexcept { return static_cast<T>(fetch_add(1) + 1); }
  T operator--() noexcept { return static_cast<T>(fetch_sub(1) - 1); }
  operator T() const noexcept { return load(); }

  // For what stands in the place of a part of the library: no steps.
  T peek() const noexcept { return value_; }
  void poke(T value) noexcept { value_ = value; }

 private:
  T value_{};
};

}  // namespace leaf::simulation

namespace std {
template <typename T>
using simulated_atomic = leaf::simulation::Atomic<T>;
}
#define atomic simulated_atomic
