#pragma once

#include <exception>
#include <new>
#include <string>

#include "leaf/error.hpp"
#include "leaf/leaf.h"

struct leaf_error {
  leaf_status status = LEAF_FAILED;
  std::string text;
  std::string hint;
};

namespace leaf::c {

/// Puts the exception that is being handled into `place`, if there is one; returns its status.
leaf_status report(leaf_error** place) noexcept;

/// Runs `work`, and reports what it throws.
template <class Work>
leaf_status guarded(leaf_error** place, Work&& work) noexcept {
  try {
    work();
    return LEAF_OK;
  } catch (...) {
    return report(place);
  }
}

/// The same for what makes a handle: null where it throws.
template <class Make>
auto* made(leaf_error** place, Make&& make) noexcept {
  decltype(make().release()) handle = nullptr;
  guarded(place, [&] { handle = make().release(); });
  return handle;
}

}  // namespace leaf::c
