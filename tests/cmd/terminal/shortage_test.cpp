#include "terminal/shortage.hpp"

#include <doctest/doctest.h>

#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

using leafctl::shortage_of;

TEST_CASE("shortage: what a lack of memory, threads or files is called, and nothing else") {
  const auto told = [](const std::exception& error) {
    const auto shortage = shortage_of(error);
    if (!shortage) return std::string("none");
    CHECK(shortage->code() == leaf::ErrorCode::unavailable);
    CHECK_FALSE(shortage->hint().empty());
    return std::string(shortage->what());
  };
  const auto system_error = [](int code, const char* what) {
    return std::system_error(code, std::generic_category(), what);
  };
  CHECK(told(std::bad_alloc()) == "out of memory");
  CHECK(told(system_error(EAGAIN, "thread")) == "cannot start a thread: Resource temporarily unavailable");
  CHECK(told(system_error(EMFILE, "signalfd")) == "signalfd: Too many open files");
  CHECK(told(system_error(EACCES, "signalfd")) == "none");
  CHECK(told(std::runtime_error("out of memory")) == "none");
}
