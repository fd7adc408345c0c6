// Any text for a time: what RFC 3339 means by it, told by the C library; what is none is refused with the
// part that is wrong.
#include <ctime>
#include <optional>
#include <regex>
#include <string>

#include "fuzz/fuzz.hpp"
#include "leaf/detail/rfc3339.hpp"
#include "leaf/error.hpp"
#include "text/time_text.hpp"

namespace {

using leaf::UnixTime;
using leaf::fuzz::require;
using std::chrono::milliseconds;

constexpr std::int64_t last_ms = 253'402'300'799'999;

std::optional<UnixTime> within(std::int64_t ms) {
  if (ms < 0 || ms > last_ms) return std::nullopt;
  return UnixTime(milliseconds(ms));
}

/// What a date means, or nothing.
std::optional<UnixTime> expected(const std::string& text) {
  static const std::regex number("[0-9]+");
  static const std::regex date(
      "([0-9]{4})-([0-9]{2})-([0-9]{2})"
      "(?:[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\\.([0-9]+))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2})))?");
  std::smatch parts;
  if (std::regex_match(text, number)) {
    const std::size_t zeros = std::min(text.find_first_not_of('0'), text.size() - 1);
    return text.size() - zeros > 15 ? std::nullopt : within(std::stoll(text.substr(zeros)));
  }
  if (!std::regex_match(text, parts, date)) return std::nullopt;
  const auto part = [&](std::size_t i) { return parts[i].matched ? std::stoi(parts[i].str()) : 0; };
  std::tm time{};
  time.tm_year = part(1) - 1900;
  time.tm_mon = part(2) - 1;
  time.tm_mday = part(3);
  time.tm_hour = part(4);
  time.tm_min = part(5);
  time.tm_sec = part(6);
  std::tm normal = time;
  const std::int64_t seconds = timegm(&normal);
  const bool is_as_written = normal.tm_year == time.tm_year && normal.tm_mon == time.tm_mon &&
                             normal.tm_mday == time.tm_mday && normal.tm_hour == time.tm_hour &&
                             normal.tm_min == time.tm_min && normal.tm_sec == time.tm_sec;
  if (!is_as_written || part(9) > 23 || part(10) > 59) return std::nullopt;
  const std::int64_t fraction = parts[7].matched ? std::stoll((parts[7].str() + "00").substr(0, 3)) : 0;
  const std::int64_t offset = (part(9) * 60 + part(10)) * 60 * (parts[8].str() == "-" ? -1 : 1);
  return within((seconds - offset) * 1000 + fraction);
}

template <class Parse>
std::optional<UnixTime> parsed(Parse parse, const std::string& text) {
  try {
    return parse();
  } catch (const leaf::Error& error) {
    const std::string what = error.what();
    require(error.code() == leaf::ErrorCode::usage && what.find("'--from'") != std::string::npos,
            "a refusal names the option", text);
    require(!error.hint().empty() || what.find("takes a duration") != std::string::npos,
            "a refusal has a hint", text);
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  constexpr UnixTime now{milliseconds(1'656'432'460'105)};
  const auto date = parsed([&] { return leafctl::parse_date("--from", text); }, text);
  require(date == expected(text), "a date means what RFC 3339 says", text);
  const auto time = parsed([&] { return leafctl::parse_time("--from", text, now); }, text);
  if (date) require(time == date, "each date is a time", text);
  if (time) {
    require(within(time->time_since_epoch().count()).has_value(), "a time is from 1970 to 9999", text);
    const std::string written = leaf::detail::format_rfc3339(*time);
    require(expected(written) == time && leafctl::parse_date("--from", written) == *time,
            "a time that is written is read", text);
  }
  return 0;
}
