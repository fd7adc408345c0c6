#include "decoded_id.hpp"

#include <fmt/format.h>

namespace leafctl {

namespace {

// What a double, and so a number in many a JSON reader, holds exactly.
constexpr int exact_json_bits = 53;

// Writes `value` in exactly `digits` digits and returns what comes behind them.
template <class Number>
char* write(char* to, int digits, Number value) {
  for (int i = digits; i-- > 0; value /= 10) to[i] = static_cast<char>('0' + value % 10);
  return to + digits;
}

// An ID's time may lie past the year 2262, which std::chrono::system_clock cannot hold.
void append_rfc3339(leaf::UnixTime time, std::string& text) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  char result[] = "0000-00-00T00:00:00.000Z";
  char* to = write(result, 4, static_cast<int>(date.year()));
  to = write(to + 1, 2, static_cast<unsigned>(date.month()));
  to = write(to + 1, 2, static_cast<unsigned>(date.day()));
  to = write(to + 1, 2, clock.hours().count());
  to = write(to + 1, 2, clock.minutes().count());
  to = write(to + 1, 2, clock.seconds().count());
  write(to + 1, 3, clock.subseconds().count());
  text.append(result, sizeof result - 1);
}

void append_number(std::int64_t number, std::string& text) {
  const fmt::format_int digits(number);
  text.append(digits.data(), digits.size());
}

}  // namespace

DecodedId::DecodedId(const leaf::Layout& layout) : layout_(layout), layout_name_(layout.name()) {
  for (const auto& field : layout.fields()) {
    if (field.role() == leaf::LayoutField::Role::time) continue;
    fields_.push_back({field, std::string(field.name()), fmt::format(",\"{}\":", field.name()),
                       field.bits() > exact_json_bits});
  }
}

std::vector<const char*> DecodedId::keys() const {
  std::vector<const char*> keys{"id", "layout", "time", "unix_ms"};
  for (const auto& field : fields_) keys.push_back(field.key.c_str());
  return keys;
}

std::vector<Cell> DecodedId::row(std::int64_t id) const {
  const auto time = layout_.time_of(id);
  std::string time_text;
  append_rfc3339(time, time_text);
  std::vector<Cell> row{Id{id}, layout_name_, time_text, time.time_since_epoch().count()};
  for (const auto& field : fields_) {
    const auto value = field.bits.of(id);
    if (field.is_text) {
      row.emplace_back(Id{value});
    } else {
      row.emplace_back(value);
    }
  }
  return row;
}

void DecodedId::append_tsv(std::int64_t id, std::string& lines) const {
  const auto time = layout_.time_of(id);
  append_number(id, lines);
  lines += '\t';
  lines += layout_name_;
  lines += '\t';
  append_rfc3339(time, lines);
  lines += '\t';
  append_number(time.time_since_epoch().count(), lines);
  for (const auto& field : fields_) {
    lines += '\t';
    append_number(field.bits.of(id), lines);
  }
  lines += '\n';
}

void DecodedId::append_json(std::int64_t id, std::string& lines) const {
  const auto time = layout_.time_of(id);
  lines += R"({"id":")";
  append_number(id, lines);
  lines += R"(","layout":")";
  lines += layout_name_;
  lines += R"(","time":")";
  append_rfc3339(time, lines);
  lines += R"(","unix_ms":)";
  append_number(time.time_since_epoch().count(), lines);
  for (const auto& field : fields_) {
    lines += field.before_json;
    if (field.is_text) lines += '"';
    append_number(field.bits.of(id), lines);
    if (field.is_text) lines += '"';
  }
  lines += "}\n";
}

}  // namespace leafctl
