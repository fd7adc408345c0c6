#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "leaf/layout.hpp"
#include "terminal/output.hpp"

namespace leafctl {

/// What a snowflake ID holds, as a record: `id`, `layout`, `time`, `unix_ms`, then the layout's own fields
/// but the time, in its order. The lines are the same that an Output makes of keys() and row(), and are made
/// some ten times faster.
class DecodedRecord {
 public:
  explicit DecodedRecord(const leaf::Layout& layout);

  std::vector<const char*> keys() const;
  std::vector<Cell> row(std::int64_t id) const;
  /// For a table of many on a terminal: without what is the same in each row, and what the time tells
  /// already.
  std::vector<const char*> table_keys() const;
  std::vector<Cell> table_row(std::int64_t id) const;
  void append_tsv(std::int64_t id, std::string& lines) const;
  void append_json(std::int64_t id, std::string& lines) const;

 private:
  void append_fields(std::int64_t id, std::vector<Cell>& row) const;

  struct Field {
    leaf::LayoutField bits;
    std::string key;
    std::string before_json;  // `,"key":`
    bool is_text;             // in JSON, because it may pass 2^53
  };

  leaf::Layout layout_;
  std::string layout_name_;
  std::vector<Field> fields_;
};

}  // namespace leafctl
