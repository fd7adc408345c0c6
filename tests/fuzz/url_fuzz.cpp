#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "leaf/error.hpp"
#include "store/url.hpp"
#include "support/conninfo_oracle.hpp"

/// Any text for a store: taken apart as libpq does, shown without a password, and named as the target that it
/// is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  text.resize(std::min(text.size(), text.find('\0')));  // libpq would see no more of it
  const std::string complaint = leaf::test::complaint_about(text, leaf::test::ask_libpq(text));
  if (!complaint.empty()) {
    std::fprintf(stderr, "%s\n%s\n", text.c_str(), complaint.c_str());
    std::abort();
  }
  try {
    leaf::store::parse_url(text);
  } catch (const leaf::Error&) {
    // Most texts name no store.
  }
  return 0;
}
