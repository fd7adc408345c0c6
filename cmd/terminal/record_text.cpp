#include "terminal/record_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "leaf/detail/rfc3339.hpp"
#include "text/color.hpp"
#include "text/display_width.hpp"
#include "text/grouped.hpp"
#include "text/line_wrap.hpp"
#include "text/rough_duration.hpp"
#include "text/text_escape.hpp"

namespace leafctl {

namespace {

using Json = nlohmann::ordered_json;
using std::chrono::milliseconds;

struct ToJson {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(std::int64_t number) const { return number; }
  Json operator()(Id id) const { return std::to_string(id.value); }
  Json operator()(Count count) const { return count.value; }
  Json operator()(const std::string& text) const { return text; }
  Json operator()(const Remark& remark) const { return remark.text; }
  Json operator()(leaf::UnixTime time) const { return leaf::detail::format_rfc3339(time); }
  Json operator()(TimeFromNow time) const { return leaf::detail::format_rfc3339(time.time); }
  Json operator()(milliseconds duration) const { return duration.count(); }
  Json operator()(const std::vector<std::string>& texts) const { return texts; }
  Json operator()(const Measures& measures) const {
    Json object = Json::object();
    for (const Measure& measure : measures)
      std::visit([&](auto value) { object[std::string(measure.name)] = value; }, measure.value);
    return object;
  }
};

/// For a program, exact.
struct ToField {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(std::int64_t number) const { return std::to_string(number); }
  std::string operator()(Id id) const { return std::to_string(id.value); }
  std::string operator()(Count count) const { return std::to_string(count.value); }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(const Remark& remark) const { return remark.text; }
  std::string operator()(leaf::UnixTime time) const { return leaf::detail::format_rfc3339(time); }
  std::string operator()(TimeFromNow time) const { return leaf::detail::format_rfc3339(time.time); }
  std::string operator()(milliseconds duration) const { return std::to_string(duration.count()); }
  std::string operator()(const std::vector<std::string>& texts) const {
    return fmt::format("{}", fmt::join(texts, ","));
  }
  std::string operator()(const Measures& measures) const {
    std::vector<std::string> parts;
    for (const Measure& measure : measures) {
      parts.push_back(
          std::visit([&](auto value) { return fmt::format("{}={}", measure.name, value); }, measure.value));
    }
    return (*this)(parts);
  }
};

/// For people.
struct ToText : ToField {
  using ToField::operator();
  std::string operator()(std::monostate) const { return "-"; }
  std::string operator()(Count count) const { return grouped(count.value); }
  std::string operator()(TimeFromNow time) const { return rough_distance(time.time, time.now); }
  std::string operator()(milliseconds duration) const { return rough_duration(duration); }
};

std::string terminal_text(const Cell& cell) {
  return escape_for_terminal(std::visit(ToText{}, cell));
}

bool is_number(const Cell& cell) {
  return std::holds_alternative<std::int64_t>(cell) || std::holds_alternative<Id>(cell) ||
         std::holds_alternative<Count>(cell) || std::holds_alternative<milliseconds>(cell);
}

/// What a table calls the column of `cell`.
std::string header(std::string_view key, const Cell& cell) {
  constexpr std::string_view unit = "_ms";
  if (std::holds_alternative<milliseconds>(cell) && key.ends_with(unit)) key.remove_suffix(unit.size());
  return std::string(key);
}

constexpr std::size_t gap = 2;
constexpr std::size_t indent_below = 4;

void pad(std::string& line, std::size_t width) {
  line.append(width, ' ');
}

bool is_remark(const Cell& cell) {
  const auto* const remark = std::get_if<Remark>(&cell);
  return remark != nullptr && !remark->text.empty();
}

std::size_t sum_of(const std::vector<std::size_t>& widths, std::size_t count) {
  std::size_t width = (count - 1) * gap;
  for (std::size_t i = 0; i < count; ++i) width += widths[i];
  return width;
}

/// How many columns of a table stand beside each other: the last ones, where they hold remarks and nothing
/// else, go below their records until the rest fits.
std::size_t columns_beside(const std::vector<Row>& rows, const std::vector<std::size_t>& widths,
                           std::size_t line_width) {
  std::size_t count = widths.size();
  const auto may_go_below = [&](std::size_t column) {
    return std::ranges::all_of(rows, [&](const Row& row) {
      return std::holds_alternative<Remark>(row[column]) ||
             std::holds_alternative<std::monostate>(row[column]);
    });
  };
  while (sum_of(widths, count) > line_width && count > 1 && may_go_below(count - 1)) --count;
  return count;
}

/// Of `texts`, a header and rows, but for the rows that `without` numbers.
std::vector<std::size_t> widths_of(const std::vector<std::vector<std::string>>& texts,
                                   const std::set<std::size_t>& without) {
  std::vector<std::size_t> widths(texts.front().size());
  for (std::size_t r = 0; r < texts.size(); ++r) {
    if (without.contains(r)) continue;
    for (std::size_t i = 0; i < widths.size(); ++i)
      widths[i] = std::max(widths[i], display_width(texts[r][i]));
  }
  return widths;
}

/// The rows of `texts` whose remarks go below alone, so that those of the others stay beside; few, or none.
std::set<std::size_t> rows_too_wide(const std::vector<std::vector<std::string>>& texts, std::size_t beside,
                                    std::size_t line_width) {
  constexpr std::size_t least_share = 4;
  std::set<std::size_t> wide;
  while (wide.size() < (texts.size() - 1) / least_share) {
    std::size_t widest = 0;
    std::size_t greatest = 0;
    for (std::size_t r = 1; r < texts.size(); ++r) {
      std::size_t width = 0;
      for (const std::string& text : texts[r]) width += display_width(text);
      if (wide.contains(r) || width <= greatest) continue;
      widest = r;
      greatest = width;
    }
    wide.insert(widest);
    const std::vector<std::size_t> widths = widths_of(texts, wide);
    if (sum_of(widths, widths.size()) > line_width) continue;
    const std::vector<std::size_t> all = widths_of(texts, {});
    return sum_of(all, beside) <= line_width ? wide : std::set<std::size_t>();
  }
  return {};
}

std::string line_below(const std::string& key, const std::string& text, std::size_t line_width) {
  return std::string(indent_below, ' ') +
         block(key + ": " + text, indent_below, std::min(line_width, usual_line_width));
}

}  // namespace

std::string json_line(Keys keys, const Row& row) {
  Json object = Json::object();
  for (std::size_t i = 0; i < keys.size(); ++i) object[keys[i]] = std::visit(ToJson{}, row[i]);
  return escape_controls_in_json(object.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::string tsv_line(const Row& row) {
  std::string line;
  for (const Cell& cell : row) line += escape_for_tsv(std::visit(ToField{}, cell)) + '\t';
  line.back() = '\n';
  return line;
}

std::string table(Keys keys, const std::vector<Row>& rows, bool color, std::size_t line_width) {
  std::vector<std::vector<std::string>> texts(1);
  for (std::size_t i = 0; i < keys.size(); ++i) texts[0].push_back(header(keys[i], rows.front()[i]));
  std::vector<bool> right(keys.size());
  for (const Row& row : rows) {
    texts.emplace_back();
    for (std::size_t i = 0; i < row.size(); ++i) {
      texts.back().push_back(terminal_text(row[i]));
      if (is_number(row[i])) right[i] = true;
    }
  }
  std::vector<std::size_t> widths = widths_of(texts, {});
  std::size_t count = columns_beside(rows, widths, line_width);
  const std::size_t count_beside = count;
  std::set<std::size_t> wide;
  if (count < keys.size()) wide = rows_too_wide(texts, count, line_width);
  if (!wide.empty()) {
    widths = widths_of(texts, wide);
    count = keys.size();
  }

  std::string result;
  if (sum_of(widths, count) > line_width) {
    for (const Row& row : rows)
      result += (result.empty() ? "" : "\n") + key_value_lines(keys, row, line_width);
    return result;
  }
  for (std::size_t r = 0; r < texts.size(); ++r) {
    const std::size_t beside = wide.contains(r) ? count_beside : count;
    std::string line;
    for (std::size_t i = 0; i < beside; ++i) {
      const std::size_t padding = widths[i] - std::min(widths[i], display_width(texts[r][i]));
      if (right[i]) pad(line, padding);
      line += texts[r][i];
      if (i + 1 == beside) break;
      pad(line, (right[i] ? 0 : padding) + gap);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += paint(bold, line, color && r == 0) + "\n";
    for (std::size_t i = beside; r > 0 && i < keys.size(); ++i) {
      if (is_remark(rows[r - 1][i])) result += line_below(texts[0][i], texts[r][i], line_width);
    }
  }
  return result;
}

std::string key_value_lines(Keys keys, const Row& row, std::size_t line_width) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) width = std::max(width, header(keys[i], row[i]).size());
  std::string result;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::string line = header(keys[i], row[i]);
    pad(line, width - line.size() + gap);
    line += block(terminal_text(row[i]), width + gap, line_width);
    line.pop_back();
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  }
  return result;
}

}  // namespace leafctl
