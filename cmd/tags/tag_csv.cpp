#include "tags/tag_csv.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <chrono>

#include "leaf/detail/rfc3339.hpp"
#include "text/delimited_text.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

/// One column: what it holds, and its name.
struct TagColumn {
  TagKey key;
  std::string name;
};
using TagColumns = std::vector<TagColumn>;

const std::vector<std::string> export_header{"tag",     "next_id",     "step",   "limit",
                                             "updated", "description", "removed"};

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// Whether the first line names a column as tags_as_csv() does, and Leaf's table does not.
bool has_own_header(std::string_view first_line, char separator) {
  while (!first_line.empty()) {
    const std::size_t end = std::min(first_line.find(separator), first_line.size());
    const std::string name = lower(std::string(first_line.substr(0, end)));
    if (name == "next_id" || name == "\"next_id\"") return true;
    first_line.remove_prefix(std::min(end + 1, first_line.size()));
  }
  return false;
}

DelimitedForm form_of(std::string_view text) {
  const std::string_view first_line = text.substr(0, text.find_first_of("\r\n"));
  if (first_line.find('\t') != std::string_view::npos) {
    return {.separator = '\t', .has_quotes = false, .is_mysql = !has_own_header(first_line, '\t')};
  }
  return {.separator = ',', .has_quotes = true, .is_mysql = !has_own_header(first_line, ',')};
}

FilePlace place_of(const InputFile& file, const DelimitedField& field) {
  return {file.name, field.line, field.column};
}

/// Whether a record names columns: a tag may have the name of a column, but not a number as well.
bool is_header(const DelimitedRecord& record) {
  const auto names = [&](TagKey key) {
    return std::ranges::any_of(record, [&](const DelimitedField& field) {
      return find_tag_key(lower(field.text.value_or(""))) == key;
    });
  };
  return names(TagKey::tag) && names(TagKey::next_id);
}

TagColumns columns_of_header(const InputFile& file, const DelimitedRecord& header) {
  TagColumns columns;
  for (const DelimitedField& field : header) {
    const std::string name = field.text.value_or("NULL");
    const auto key = find_tag_key(lower(name));
    if (!key) {
      throw place_of(file, field)
          .error(fmt::format("unknown column '{}'", name),
                 fmt::format("the columns are {}"_hint, tag_key_names));
    }
    const bool is_repeated =
        *key != TagKey::ignored && std::ranges::find(columns, *key, &TagColumn::key) != columns.end();
    if (is_repeated) throw place_of(file, field).error(fmt::format("column '{}' appears twice", name));
    columns.push_back({*key, name});
  }
  return columns;
}

/// Leaf's, in the order of its table; the last ones may be left out.
TagColumns leaf_columns(const InputFile& file, const DelimitedRecord& first) {
  TagColumns columns{{TagKey::tag, "biz_tag"},
                     {TagKey::next_id, "max_id"},
                     {TagKey::step, "step"},
                     {TagKey::description, "description"},
                     {TagKey::ignored, "update_time"}};
  constexpr std::size_t fewest = 3;
  if (first.size() < fewest || first.size() > columns.size()) {
    throw place_of(file, first.front())
        .error(fmt::format("expected 3 to 5 fields, found {} (the file has no header line)", first.size()),
               first.size() == 1 ? "separate the fields with commas or tabs, as 'mysql -B' does"_hint
                                 : "begin with a line of column names, or write "
                                   "biz_tag,max_id,step,description,update_time"_hint);
  }
  columns.resize(first.size());
  return columns;
}

FiledTag tag_of(const InputFile& file, const TagColumns& columns, const DelimitedRecord& record) {
  const FilePlace place = place_of(file, record.front());
  if (record.size() != columns.size()) {
    throw place.error(fmt::format("{} fields instead of {}", record.size(), columns.size()));
  }
  std::map<TagKey, FiledValue> values;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const DelimitedField& field = record[i];
    const bool is_required = columns[i].key == TagKey::tag || columns[i].key == TagKey::next_id;
    if (!field.text && is_required)
      throw place_of(file, field).error(fmt::format("'{}' is NULL", columns[i].name));
    if (!field.text || (field.text->empty() && !is_required)) continue;
    values.emplace(columns[i].key, FiledValue{columns[i].name, *field.text, place_of(file, field)});
  }
  return make_filed_tag(values, place);
}

}  // namespace

TagFile read_tag_csv(const InputFile& file) {
  const auto records = read_delimited(file.text, form_of(file.text), file.name);
  TagFile result;
  if (records.empty()) return result;
  const bool has_header = is_header(records.front());
  const TagColumns columns =
      has_header ? columns_of_header(file, records.front()) : leaf_columns(file, records.front());
  for (std::size_t i = has_header ? 1 : 0; i < records.size(); ++i) {
    try {
      result.tags.push_back(tag_of(file, columns, records[i]));
    } catch (const leaf::Error& error) {
      result.errors.push_back(error);
    }
  }
  refuse_repeated(result);
  return result;
}

std::string tags_as_csv(const std::vector<leaf::Tag>& tags) {
  std::string text = csv_line(export_header);
  for (const leaf::Tag& tag : tags) {
    text +=
        csv_line({tag.name, std::to_string(tag.next_id), std::to_string(tag.step),
                  tag.limit ? std::to_string(*tag.limit) : "", leaf::detail::format_rfc3339(tag.updated_at),
                  tag.description, tag.is_removed ? "true" : ""});
  }
  return text;
}

}  // namespace leafctl
