#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands.hpp"
#include "declaration.hpp"
#include "decoded_id.hpp"
#include "id_form_options.hpp"
#include "id_text.hpp"
#include "layout_options.hpp"
#include "line_reader.hpp"

namespace leafctl {

namespace {

/// Prints what IDs hold. On a terminal those that came together are one table, a single one is lines of its
/// own.
class Printer {
 public:
  Printer(const leaf::Layout& layout, Output& output) : decoded_(layout), output_(output) {}

  void add(std::int64_t id) {
    if (output_.format() == OutputFormat::json) {
      decoded_.append_json(id, lines_);
    } else if (!output_.is_terminal()) {
      decoded_.append_tsv(id, lines_);
    } else {
      ids_.push_back(id);
    }
  }

  void flush() {
    if (!ids_.empty()) {
      if (has_rows_above_) output_.print_text("\n");
      has_rows_above_ = true;
      print_ids();
    }
    output_.flushed_file().write(lines_);
    ids_.clear();
    lines_.clear();
  }

 private:
  void print_ids() {
    if (ids_.size() == 1) return output_.print_one(decoded_.keys(), decoded_.row(ids_.front()));
    std::vector<Row> rows;
    for (const std::int64_t id : ids_) rows.push_back(decoded_.table_row(id));
    output_.print_list(decoded_.table_keys(), rows);
  }

  DecodedId decoded_;
  Output& output_;
  bool has_rows_above_ = false;
  std::string lines_;
  std::vector<std::int64_t> ids_;
};

/// Reads IDs in the form that they are written in.
class IdReader {
 public:
  /// `layout` is borrowed.
  IdReader(const leaf::Layout& layout, std::optional<IdTemplate> form)
      : layout_(layout), form_(std::move(form)) {}

  /// The ID that `text` is, if the layout holds it.
  std::optional<std::int64_t> read(std::string_view text) {
    return form_ ? form_->read(text, layout_) : parse_id(text, layout_);
  }

  /// Why read() gave nothing; `usage`.
  leaf::Error error(std::string_view text) {
    if (!form_) return id_error(text, layout_);
    return {leaf::ErrorCode::usage,
            fmt::format("{} is not an ID in the form '{}'", quoted(text), form_->text()), hint()};
  }

  /// What an ID is.
  std::string hint() {
    const std::int64_t greatest = layout_.last_id(layout_.last_time());
    if (!form_) return fmt::format("an ID of layout '{}' is a number from 0 to {}", layout_.name(), greatest);
    std::string text;
    form_->append(greatest, layout_.last_time(), text);
    return fmt::format("the greatest ID of layout '{}' is '{}' in that form", layout_.name(), text);
  }

 private:
  const leaf::Layout& layout_;
  std::optional<IdTemplate> form_;
};

/// Decodes standard input to its end and returns how many of its lines held no ID.
std::size_t decode_lines(IdReader& ids, Printer& printer, Messages& messages) {
  LineReader reader(STDIN_FILENO, "standard input");
  std::size_t number = 0;
  std::size_t bad = 0;
  for (auto lines = reader.next_lines(); !lines.empty(); lines = reader.next_lines()) {
    while (!lines.empty()) {
      const auto end = std::min(lines.find('\n'), lines.size());
      const auto line = lines.substr(0, end);
      lines.remove_prefix(std::min(end + 1, lines.size()));
      ++number;
      if (const auto id = ids.read(line)) {
        printer.add(*id);
      } else {
        ++bad;
        messages.error(fmt::format("line {}: {}", number, ids.error(line).what()));
      }
    }
    printer.flush();
  }
  return bad;
}

class Decode : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Prints what snowflake IDs hold: when each was made, by which worker, with which sequence number.");
    command.add_texts_argument("ID", "", ids_,
                               "IDs to decode; - or none reads them from standard input, one a line");
    form_.declare(command, "read each ID");
    layout_.declare(command);
    command.add_examples(
        "Prints id, layout, time (UTC), unix_ms, then the layout's own fields such as\n"
        "worker and sequence: tab-separated in a pipe, an object a line with -o json.\n"
        "An ID in another form than decimal is read only where --format or --template\n"
        "names that form, as 'leafctl next' wrote it: a text that was cut is refused.\n"
        "Hex and base32 are read in either case, and base32's I and L as 1, O as 0.\n"
        "A line that is no ID is reported by its number, and the exit status is 1.\n\n"
        "Examples:\n"
        "  leafctl decode 1256557484213448722\n"
        "  leafctl decode --layout discord 175928847299117063\n"
        "  leafctl decode --format base62 1Up2tABQZwQ\n"
        "  psql -Atc 'select id from orders' | leafctl decode -o json");
  }

  void run(Session& session) override {
    const auto layout = layout_.layout(session.settings());
    IdReader reader(layout, form_.form());
    if (ids_.empty()) ids_ = {"-"};
    for (const auto& text : ids_) {
      if (text != "-" && !reader.read(text)) throw reader.error(text);
    }
    Printer printer(layout, session.output);
    std::size_t bad = 0;
    for (const auto& text : ids_) {
      if (text == "-") {
        printer.flush();
        bad += decode_lines(reader, printer, session.messages);
      } else {
        printer.add(*reader.read(text));
      }
    }
    printer.flush();
    if (bad != 0) {
      throw leaf::Error(leaf::ErrorCode::failed, fmt::format("{} of the lines held no ID", bad),
                        reader.hint());
    }
  }

 private:
  std::vector<std::string> ids_;
  IdFormOptions form_;
  LayoutOptions layout_;
};

}  // namespace

std::unique_ptr<Command> make_decode() {
  return std::make_unique<Decode>();
}

}  // namespace leafctl
