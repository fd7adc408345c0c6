#pragma once

#include <doctest/doctest.h>

#include <string>

#include "leaf/error.hpp"

namespace leaf::test {

/// What the error that `call()` throws says, which has to be of usage; "no error" if it throws none.
template <typename Call>
std::string usage_error(Call call) {
  try {
    call();
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::usage);
    return error.what();
  }
  return "no error";
}

/// The same where the error has to have a hint.
template <typename Call>
std::string hinted_usage_error(Call call) {
  return usage_error([&] {
    try {
      call();
    } catch (const Error& error) {
      CHECK_FALSE(error.hint().empty());
      throw;
    }
  });
}

}  // namespace leaf::test
