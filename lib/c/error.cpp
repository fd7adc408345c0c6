#include "c/error.hpp"

#include <cstddef>
#include <new>
#include <string>

#include "text/shortage.hpp"

namespace leaf::c {

namespace {

std::string memory_hint() {
  try {
    return shortage_hint(ENOMEM);
  } catch (const std::bad_alloc&) {
    return {};
  }
}

/// For when there is no memory to make one. Never destroyed: a handler at exit may draw.
leaf_error& out_of_memory() {
  alignas(leaf_error) static std::byte place[sizeof(leaf_error)];
  static leaf_error& error = *new (place) leaf_error{LEAF_UNAVAILABLE, "out of memory", memory_hint()};
  return error;
}

/// Made while the library is loaded: the first caller may be a thread that a fork interrupts.
[[maybe_unused]] leaf_error& made_early = out_of_memory();

leaf_error* made_of(const std::exception& exception) {
  const auto* const known = dynamic_cast<const Error*>(&exception);
  if (known == nullptr) return new leaf_error{LEAF_FAILED, exception.what(), {}};
  return new leaf_error{static_cast<leaf_status>(known->code()), known->what(), known->hint()};
}

}  // namespace

leaf_status report(leaf_error** place) noexcept {
  leaf_error* error = nullptr;
  try {
    throw;
  } catch (const std::bad_alloc&) {
    error = &out_of_memory();
  } catch (const std::exception& exception) {
    try {
      error = made_of(exception);
    } catch (const std::bad_alloc&) {
      error = &out_of_memory();
    }
  }
  const leaf_status status = error->status;
  if (place != nullptr) {
    *place = error;
  } else {
    leaf_error_free(error);
  }
  return status;
}

}  // namespace leaf::c

leaf_status leaf_error_status(const leaf_error* error) {
  return error->status;
}

const char* leaf_error_text(const leaf_error* error) {
  return error->text.c_str();
}

const char* leaf_error_hint(const leaf_error* error) {
  return error->hint.c_str();
}

int leaf_error_is_retryable(const leaf_error* error) {
  return error->status == LEAF_UNAVAILABLE ? 1 : 0;
}

void leaf_error_free(leaf_error* error) {
  if (error != &leaf::c::out_of_memory()) delete error;
}
