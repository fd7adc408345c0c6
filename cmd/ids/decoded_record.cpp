#include "ids/decoded_record.hpp"

#include <fmt/format.h>

#include "leaf/detail/rfc3339.hpp"

namespace leafctl {

namespace {

// What a double, and so a number in many a JSON reader, holds exactly.
constexpr int exact_json_bits = 53;

void append_number(std::int64_t number, std::string& text) {
  const fmt::format_int digits(number);
  text.append(digits.data(), digits.size());
}

}  // namespace

DecodedRecord::DecodedRecord(const leaf::Layout& layout) : layout_(layout), layout_name_(layout.name()) {
  for (const auto& field : layout.fields()) {
    if (field.role() == leaf::LayoutField::Role::time) continue;
    fields_.push_back({field, std::string(field.name()), fmt::format(",\"{}\":", field.name()),
                       field.bits() > exact_json_bits});
  }
}

std::vector<const char*> DecodedRecord::keys() const {
  std::vector<const char*> keys{"id", "layout", "time", "unix_ms"};
  for (const auto& field : fields_) keys.push_back(field.key.c_str());
  return keys;
}

std::vector<Cell> DecodedRecord::row(std::int64_t id) const {
  const auto time = layout_.time_of(id);
  std::vector<Cell> row{Id{id}, layout_name_, time, time.time_since_epoch().count()};
  append_fields(id, row);
  return row;
}

std::vector<const char*> DecodedRecord::table_keys() const {
  std::vector<const char*> keys{"id", "time"};
  for (const auto& field : fields_) keys.push_back(field.key.c_str());
  return keys;
}

std::vector<Cell> DecodedRecord::table_row(std::int64_t id) const {
  std::vector<Cell> row{Id{id}, layout_.time_of(id)};
  append_fields(id, row);
  return row;
}

void DecodedRecord::append_fields(std::int64_t id, std::vector<Cell>& row) const {
  for (const auto& field : fields_) {
    const auto value = field.bits.of(id);
    if (field.is_text) {
      row.emplace_back(Id{value});
    } else {
      row.emplace_back(value);
    }
  }
}

void DecodedRecord::append_tsv(std::int64_t id, std::string& lines) const {
  const auto time = layout_.time_of(id);
  append_number(id, lines);
  lines += '\t';
  lines += layout_name_;
  lines += '\t';
  leaf::detail::append_rfc3339(time, lines);
  lines += '\t';
  append_number(time.time_since_epoch().count(), lines);
  for (const auto& field : fields_) {
    lines += '\t';
    append_number(field.bits.of(id), lines);
  }
  lines += '\n';
}

void DecodedRecord::append_json(std::int64_t id, std::string& lines) const {
  const auto time = layout_.time_of(id);
  lines += R"({"id":")";
  append_number(id, lines);
  lines += R"(","layout":")";
  lines += layout_name_;
  lines += R"(","time":")";
  leaf::detail::append_rfc3339(time, lines);
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
