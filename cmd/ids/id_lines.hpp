#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "ids/id_writer.hpp"
#include "leaf/id_form.hpp"
#include "leaf/layout.hpp"
#include "leaf/range.hpp"
#include "terminal/output.hpp"

namespace leafctl {

/// Prints IDs, a line each: plain ones at the speed of memory, others in their form. In JSON an object each,
/// `{"tag":"order","id":"1","text":"ORD-1"}`, without `tag` for snowflake IDs and without `text` where there
/// is no form. Nothing else may be printed meanwhile. `output` is borrowed.
class IdLines {
 public:
  /// IDs of a tag; the date in a form is that of the printing.
  IdLines(Output& output, const std::string& tag, std::optional<leaf::IdTemplate> form);
  /// Snowflake IDs; the date in a form is the one in the ID.
  IdLines(Output& output, const leaf::Layout& layout, std::optional<leaf::IdTemplate> form);

  /// Throw as IdWriter::write() does. No ID is negative.
  void write(leaf::Range ids);
  void write(std::span<const std::int64_t> ids);

 private:
  void append(std::int64_t id, leaf::UnixTime now);
  void flush();

  OutputFile& file_;
  bool is_json_;
  std::string tag_;
  std::optional<leaf::Layout> layout_;
  std::optional<leaf::IdTemplate> form_;
  IdWriter plain_;
  std::string text_;
  std::string lines_;
};

}  // namespace leafctl
