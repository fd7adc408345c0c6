#include "doctor/nagios.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "text/text_escape.hpp"

namespace leafctl {

namespace {

CheckState worst_of(const Checks& checks) {
  CheckState worst = CheckState::ok;
  for (const Check& check : checks) worst = std::max(worst, check.state);
  return worst;
}

/// A bar begins the performance data.
std::string escaped(std::string_view what) {
  std::string text = escape_for_terminal(what);
  std::ranges::replace(text, '|', '/');
  return text;
}

std::string text_of(const Check& check) {
  return escaped(fmt::format("{}: {}", check.name, check.detail));
}

/// Quoted: a label takes all but '=', and a quote twice.
std::string label_of(const Check& check, std::string_view measure) {
  std::string label;
  for (const char c :
       fmt::format("{}_{}{}{}", check.name, check.subject, check.subject.empty() ? "" : "_", measure))
    label.append(c == '\'' ? 2 : 1, c == '=' ? '_' : c);
  label = escape_for_terminal(label);
  std::ranges::replace(label, '|', '_');
  return fmt::format("'{}'", label);
}

std::string performance_data(const Checks& checks) {
  std::vector<std::string> data;
  for (const Check& check : checks) {
    for (const Measure& measure : check.measures) {
      const bool is_time = measure.name.find("seconds") != std::string_view::npos;
      data.push_back(std::visit(
          [&](auto value) {
            return fmt::format("{}={}{}", label_of(check, measure.name), value, is_time ? "s" : "");
          },
          measure.value));
    }
  }
  return fmt::format("{}", fmt::join(data, " "));
}

}  // namespace

int nagios_status(const Checks& checks) {
  return static_cast<int>(worst_of(checks));
}

bool wants_nagios(const std::vector<std::string>& arguments) {
  bool is_doctor = false;
  bool is_nagios = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    is_doctor = is_doctor || arguments[i] == "doctor";
    is_nagios = is_nagios || arguments[i] == "--format=nagios" ||
                (arguments[i] == "nagios" && i > 0 && arguments[i - 1] == "--format");
  }
  return is_doctor && is_nagios;
}

std::string nagios_unknown_line(std::string_view why) {
  return fmt::format("LEAFCTL UNKNOWN - {}\n", escaped(why));
}

std::string nagios_line(const Checks& checks) {
  static_assert(static_cast<int>(CheckState::ok) == 0 && static_cast<int>(CheckState::warning) == 1 &&
                static_cast<int>(CheckState::failed) == 2);
  constexpr std::string_view states[] = {"OK", "WARNING", "CRITICAL"};
  std::vector<std::string> found;
  // The worst comes first, as a pager may cut the line off.
  for (const CheckState state : {CheckState::failed, CheckState::warning}) {
    for (const Check& check : checks) {
      if (check.state == state) found.push_back(text_of(check));
    }
  }
  const std::string what =
      found.empty() ? fmt::format("{} checks", checks.size()) : fmt::format("{}", fmt::join(found, "; "));
  const std::string data = performance_data(checks);
  return fmt::format("LEAFCTL {} - {}{}{}\n", states[nagios_status(checks)], what, data.empty() ? "" : " | ",
                     data);
}

}  // namespace leafctl
