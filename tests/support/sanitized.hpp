#pragma once

namespace leaf::test {

/// Whether a child that is forked while other threads are in the allocator finds it locked: a sanitizer's has
/// no handlers for that.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool children_of_threads_hang = true;
#else
inline constexpr bool children_of_threads_hang = false;
#endif

}  // namespace leaf::test
