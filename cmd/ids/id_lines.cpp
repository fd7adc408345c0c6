#include "ids/id_lines.hpp"

#include "terminal/record_text.hpp"
#include "text/time_text.hpp"

namespace leafctl {

namespace {

constexpr std::size_t preferred_write = 64UL * 1024;

/// The keys of a line, with or without a tag and a text.
Keys line_keys(bool has_tag, bool has_text) {
  static constexpr const char* keys[] = {"tag", "id", "text"};
  return Keys(keys).subspan(has_tag ? 0 : 1, (has_tag ? 1 : 0) + 1 + (has_text ? 1 : 0));
}

/// The line of one ID, cut where the ID goes.
IdWriter plain_writer(OutputFile& file, OutputFormat format, const std::string& tag) {
  if (format == OutputFormat::text) return {file, "", "\n"};
  Row row;
  if (!tag.empty()) row.emplace_back(tag);
  row.emplace_back(std::string());
  const std::string line = json_line(line_keys(!tag.empty(), false), row);
  const std::size_t quote = line.rfind('"');
  return {file, line.substr(0, quote), line.substr(quote)};
}

}  // namespace

IdLines::IdLines(Output& output, const std::string& tag, std::optional<leaf::IdTemplate> form)
    : file_(output.flushed_file()),
      is_json_(output.format() == OutputFormat::json),
      tag_(tag),
      form_(std::move(form)),
      plain_(plain_writer(file_, output.format(), tag)) {}

IdLines::IdLines(Output& output, const leaf::Layout& layout, std::optional<leaf::IdTemplate> form)
    : IdLines(output, std::string(), std::move(form)) {
  layout_ = layout;
}

void IdLines::write(leaf::Range ids) {
  if (!form_) return plain_.write(ids);
  const leaf::UnixTime now = current_time();
  for (std::int64_t id = ids.lo; id < ids.hi; ++id) append(id, now);
  flush();
}

void IdLines::write(std::span<const std::int64_t> ids) {
  if (!form_) return plain_.write(ids);
  const leaf::UnixTime now = current_time();
  for (const std::int64_t id : ids) append(id, now);
  flush();
}

void IdLines::append(std::int64_t id, leaf::UnixTime now) {
  const leaf::UnixTime time = layout_ ? layout_->time_of(id) : now;
  if (is_json_) {
    text_.clear();
    form_->append(id, time, text_);
    Row row;
    if (!tag_.empty()) row.emplace_back(tag_);
    row.emplace_back(Id{id});
    row.emplace_back(text_);
    lines_ += json_line(line_keys(!tag_.empty(), true), row);
  } else {
    form_->append(id, time, lines_);
    lines_ += '\n';
  }
  if (lines_.size() >= preferred_write) flush();
}

void IdLines::flush() {
  file_.write(lines_);
  lines_.clear();
}

}  // namespace leafctl
