#pragma once

#include <optional>
#include <string>

#include "leaf/error.hpp"

namespace leaf::test {

/// The code of the error that `call` throws; nothing if it does not.
template <typename Call>
std::optional<ErrorCode> error_code(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.code();
  }
  return std::nullopt;
}

/// What the error that `call` throws says, its hint behind " | "; empty if it does not.
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
