// Any text for a store: taken apart as libpq does, shown without a password, and named as the target that it
// is.
#include <algorithm>
#include <string>

#include "fuzz/fuzz.hpp"
#include "leaf/error.hpp"
#include "store/url.hpp"
#include "support/conninfo_oracle.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  text.resize(std::min(text.size(), text.find('\0')));  // libpq would see no more of it
  const std::string complaint = leaf::test::complaint_about(text, leaf::test::ask_libpq(text));
  leaf::fuzz::require(complaint.empty(), complaint, text);
  try {
    leaf::store::parse_url(text);
  } catch (const leaf::Error& error) {
    // Most texts name no store.
    leaf::fuzz::require(error.code() == leaf::ErrorCode::usage, "what is no URL is a mistake of the user's",
                        text);
  }
  return 0;
}
