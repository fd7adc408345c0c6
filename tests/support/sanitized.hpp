#pragma once

namespace leaf::test {

/// Whether a child that is forked while other threads are in the allocator finds it locked: a sanitizer's has
/// no handlers for that.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool children_of_threads_hang = true;
#else
inline constexpr bool children_of_threads_hang = false;
#endif

/// Whether a child that was forked while there were other threads ends when it starts one in the place of
/// theirs: ThreadSanitizer of GCC 12 still counts them.
#if defined(__SANITIZE_THREAD__)
inline constexpr bool children_start_no_threads = true;
#else
inline constexpr bool children_start_no_threads = false;
#endif

}  // namespace leaf::test
