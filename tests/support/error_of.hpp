#pragma once

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <string>

#include "leaf/error.hpp"

namespace leaf::test {

/// The error that `call()` throws; it must throw one.
template <typename Call>
Error error_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error;
  }
  throw std::runtime_error("the call succeeded though it had to fail");
}

/// The code of the error that `call()` throws; nothing if it does not.
template <typename Call>
std::optional<ErrorCode> error_code(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

/// Whether the hint of `error` proposes `remedy`, wherever in it.
inline bool proposes(const Error& error, Remedy remedy) {
  return std::ranges::any_of(error.remedies(), [&](const Remedy& proposed) {
    remedy.at = proposed.at;
    return proposed == remedy;
  });
}

/// What the error that `call()` throws says, its hint behind " | "; empty if it does not.
template <typename Call>
std::string error_text(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return std::string(error.what()) + " | " + error.hint();
  }
  return {};
}

}  // namespace leaf::test
