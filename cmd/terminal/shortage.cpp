#include "terminal/shortage.hpp"

#include <cxxabi.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <typeinfo>

#include "text/hint.hpp"

namespace leafctl {

namespace {

constexpr const char* out_of_memory = "out of memory";
constexpr const char* more_memory = "allow this process more memory, see 'ulimit -v', or free some"_hint;

std::terminate_handler usual_end = nullptr;

bool is_for_want_of_memory() {
  const std::type_info* const thrown = abi::__cxa_current_exception_type();
  if (thrown != nullptr) return *thrown == typeid(std::bad_alloc);
  // Without an exception it is most likely a mistake in the program.
  void* const page = std::malloc(4096);
  std::free(page);
  return page == nullptr;
}

void end() {
  if (!is_for_want_of_memory()) usual_end();
  for (const std::string_view part : {"leafctl: ", out_of_memory, "\nhint: ", more_memory, "\n"}) {
    if (write(STDERR_FILENO, part.data(), part.size()) < 0) break;
  }
  std::_Exit(static_cast<int>(leaf::ErrorCode::unavailable));
}

}  // namespace

std::optional<leaf::Error> shortage_of(const std::exception& error) {
  const auto lack = [](const std::string& text, const char* hint) {
    return leaf::Error(leaf::ErrorCode::unavailable, text, hint);
  };
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return lack(out_of_memory, more_memory);
  const auto* const failure = dynamic_cast<const std::system_error*>(&error);
  if (failure == nullptr) return std::nullopt;
  if (failure->code() == std::errc::resource_unavailable_try_again) {
    return lack(std::string("cannot start a thread: ") + failure->code().message(),
                "allow more of them, see 'ulimit -u', or more memory, see 'ulimit -v'"_hint);
  }
  if (failure->code() == std::errc::too_many_files_open)
    return lack(failure->what(), "allow this process more open files, see 'ulimit -n'"_hint);
  return std::nullopt;
}

void survive_lack_of_memory() {
  usual_end = std::set_terminate(&end);
}

}  // namespace leafctl
