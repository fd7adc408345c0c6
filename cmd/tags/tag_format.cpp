#include "tags/tag_format.hpp"

#include <fmt/format.h>

#include "cli/declaration.hpp"
#include "leaf/error.hpp"

namespace leafctl {

void TagFormatOption::declare(Declaration& command, const std::string& fallback) {
  command.add_text_option("--format", "yaml|csv", text_, fmt::format("yaml or csv (default: {})", fallback));
}

std::optional<TagFormat> TagFormatOption::format() const {
  if (!text_) return std::nullopt;
  if (*text_ == "yaml") return TagFormat::yaml;
  if (*text_ == "csv") return TagFormat::csv;
  throw leaf::Error(leaf::ErrorCode::usage, fmt::format("'--format' takes yaml or csv, not '{}'", *text_));
}

TagFormat format_of(const InputFile& file) {
  const std::string_view name = file.name;
  if (name.ends_with(".yaml") || name.ends_with(".yml")) return TagFormat::yaml;
  if (name.ends_with(".csv") || name.ends_with(".tsv")) return TagFormat::csv;
  // No line of a table begins in one of these ways: a tag's name cannot hold a blank, a bracket or a hash.
  const std::string_view text = file.text;
  const std::string_view first_line = text.substr(0, text.find_first_of("\r\n"));
  const bool is_yaml = first_line.starts_with('#') || first_line.starts_with('{') || first_line == "---" ||
                       first_line == "tags:" || first_line.starts_with("tags: ");
  return is_yaml ? TagFormat::yaml : TagFormat::csv;
}

}  // namespace leafctl
