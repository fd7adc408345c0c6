#pragma once

#include <string_view>

#include "leaf/layout.hpp"

namespace leafctl {

/// A point in time from 1970 to 9999: RFC 3339 with a zone (`2022-06-28T16:07:40.105Z`,
/// `2022-06-28T18:07:40+02:00`; what is finer than a millisecond is cut off), a day (`2022-06-28`, from its
/// midnight in UTC on), or a number of Unix milliseconds. Throws leaf::Error (usage) that names `name`, an
/// option, and the part of `text` that it does not understand.
leaf::UnixTime parse_date(std::string_view name, std::string_view text);

/// The same, or `now`, `today`, `yesterday` or `tomorrow` (a day's midnight in UTC), and a distance from one
/// of them: `now-1h`, `now+10m`, `today-7d`.
leaf::UnixTime parse_time(std::string_view name, std::string_view text, leaf::UnixTime now);

/// The same, for an end of a range: what is finer than a millisecond is rounded up, to the first millisecond
/// that is not before it.
leaf::UnixTime parse_bound(std::string_view name, std::string_view text, leaf::UnixTime now);

/// What parse_time() is given as `now`: the machine's clock.
leaf::UnixTime current_time();

}  // namespace leafctl
