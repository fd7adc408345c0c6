#pragma once

#include <cstddef>

namespace leaf::simulation {

struct Fiber;

/// All memory of one history. A process that is killed runs no destructor: what it had goes with its history,
/// at once. And since each history finds the same memory, what is ordered by address is ordered alike each
/// time.
///
/// While one is in use, `new` takes from it and `delete` gives back to it; one at a time.
class Arena {
 public:
  Arena();
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// What `new` takes meanwhile outlives the history.
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    bool was_in_use_;
  };
};

/// While it is set that thread finds no memory the next time that it wants some.
extern const Fiber* finds_no_memory;

}  // namespace leaf::simulation
