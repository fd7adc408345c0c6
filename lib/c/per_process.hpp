#pragma once

#include <atomic>
#include <memory>

#include "store/fork_generation.hpp"

namespace leaf::c {

/// A part that does not survive fork(), such as one with threads. Its first use in a child makes it anew
/// there. What the parent left is not destroyed in the child: its threads are gone, and its locks may be held
/// by them.
template <class Part>
class PerProcess {
 public:
  /// There is none before get().
  PerProcess() = default;
  /// `make` returns a Part, here and in get().
  template <class Make>
  explicit PerProcess(const Make& make) {
    current_.store(new Made(make), std::memory_order_release);
  }
  ~PerProcess() {
    Made* const made = current_.load(std::memory_order_acquire);
    if (made != nullptr && made->is_of_this_process()) delete made;
  }
  PerProcess(const PerProcess&) = delete;
  PerProcess& operator=(const PerProcess&) = delete;

  /// That of this process; null if there is none yet.
  Part* find() noexcept {
    Made* const made = current_.load(std::memory_order_acquire);
    return made != nullptr && made->is_of_this_process() ? &made->part : nullptr;
  }
  /// Whether a process that this one was forked from had one.
  bool is_parents() const noexcept {
    const Made* const made = current_.load(std::memory_order_acquire);
    return made != nullptr && !made->is_of_this_process();
  }
  /// The same; `make` is called if there is none yet. Where threads do so at once one of theirs stays.
  template <class Make>
  Part& get(const Make& make) {
    Made* const made = current_.load(std::memory_order_acquire);
    return made != nullptr && made->is_of_this_process() ? made->part : anew(made, make);
  }

 private:
  struct Made {
    template <class Make>
    explicit Made(const Make& make) : part(make()) {}

    bool is_of_this_process() const noexcept { return generation == store::fork_generation(); }

    const unsigned generation = store::fork_generation();
    Part part;
  };

  template <class Make>
  Part& anew(Made* former, const Make& make) {
    auto fresh = std::make_unique<Made>(make);
    Made* found = former;
    if (!current_.compare_exchange_strong(found, fresh.get(), std::memory_order_acq_rel)) return found->part;
    return fresh.release()->part;
  }

  std::atomic<Made*> current_{nullptr};
};

}  // namespace leaf::c
