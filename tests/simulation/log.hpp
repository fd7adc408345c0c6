#pragma once

#include <cstdint>
#include <cstdio>
#include <string_view>

#include "simulation/scheduler.hpp"

namespace leaf::simulation {

/// What happened in a history, as a hash of all of it, and as text if somebody wants to read it.
class Log {
 public:
  explicit Log(std::FILE* text) : text_(text) {}

  /// `who` is a process, or 0; `a` and `b` are what it is about.
  void note(std::string_view what, int who = 0, std::int64_t a = 0, std::int64_t b = 0) {
    add(static_cast<std::uint64_t>(Scheduler::the().now()));
    for (const char c : what) add(static_cast<unsigned char>(c));
    add(static_cast<std::uint64_t>(who));
    add(static_cast<std::uint64_t>(a));
    add(static_cast<std::uint64_t>(b));
    if (text_ != nullptr) print(what, who, a, b);
  }
  /// What goes into the text alone.
  void say(std::string_view what, int who, std::string_view text);

  std::uint64_t hash() const noexcept { return hash_; }
  bool is_read() const noexcept { return text_ != nullptr; }

 private:
  void add(std::uint64_t number) noexcept {
    hash_ = (hash_ ^ number) * 0x9E3779B97F4A7C15;
    hash_ ^= hash_ >> 29;
  }
  void print(std::string_view what, int who, std::int64_t a, std::int64_t b) const;

  std::uint64_t hash_ = 0xCBF29CE484222325;
  std::FILE* text_;
};

}  // namespace leaf::simulation
