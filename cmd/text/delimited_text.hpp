#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leafctl {

/// How fields are parted and written in a file of records.
struct DelimitedForm {
  char separator = ',';
  bool has_quotes = true;  ///< a field may be in double quotes, and those in it are doubled
  /// As MySQL writes: \n, \t and the like stand for characters; \N, and NULL without quotes, for no value.
  bool is_mysql = false;
};

/// One field of a record, and where in the file it begins; both counted from 1, the column in characters.
struct DelimitedField {
  std::optional<std::string> text;  ///< none: NULL
  std::size_t line = 1;
  std::size_t column = 1;
};

using DelimitedRecord = std::vector<DelimitedField>;

/// What a text begins with.
struct FirstRecord {
  DelimitedRecord fields;
  std::size_t size = 0;      ///< of its text, the line end included
  bool is_open = false;      ///< the text ends within quotes, so the record may go on
  std::string_view mistake;  ///< what is wrong with it, a quote that does not end included; else empty
};

/// The first record of `text`, which is not empty; an empty line is one of one empty field.
FirstRecord read_first_record(std::string_view text, const DelimitedForm& form);

/// The records of `text`, but for empty lines. `name` is what errors call the file. Throws leaf::Error
/// (usage) with the line and column of a quote that does not end, or that is not at the end of its field.
std::vector<DelimitedRecord> read_delimited(std::string_view text, const DelimitedForm& form,
                                            const std::string& name);

/// `fields` as one line of comma-separated values (RFC 4180, with a newline).
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace leafctl
