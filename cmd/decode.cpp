#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/declaration.hpp"
#include "commands.hpp"
#include "ids/column_options.hpp"
#include "ids/column_reader.hpp"
#include "ids/decoded_record.hpp"
#include "ids/id_form_options.hpp"
#include "ids/layout_options.hpp"
#include "leaf/detail/counted.hpp"
#include "terminal/input_file.hpp"
#include "terminal/line_reader.hpp"
#include "text/hint.hpp"

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

  DecodedRecord decoded_;
  Output& output_;
  bool has_rows_above_ = false;
  std::string lines_;
  std::vector<std::int64_t> ids_;
};

/// Reads IDs in the form that they are written in.
class IdReader {
 public:
  /// `layout` is borrowed.
  IdReader(const leaf::Layout& layout, std::optional<leaf::IdTemplate> form)
      : layout_(layout), form_(std::move(form)) {}

  /// The ID that `text` is, if the layout holds it.
  std::optional<std::int64_t> read(std::string_view text) {
    return form_ ? form_->read(text, layout_) : leaf::parse_id(text, layout_);
  }

  /// Why read() gave nothing; `usage`.
  leaf::Error error(std::string_view text) {
    return form_ ? leaf::id_error(text, layout_, *form_) : leaf::id_error(text, layout_);
  }

  /// What an ID is.
  std::string hint() {
    if (form_) return error("").hint();
    return fmt::format("an ID of layout '{}' is a number from 0 to {}"_hint, layout_.name(),
                       layout_.last_id(layout_.last_time()));
  }

 private:
  const leaf::Layout& layout_;
  std::optional<leaf::IdTemplate> form_;
};

/// Decodes standard input to its end, and counts what in it holds no ID.
class InputDecoder {
 public:
  /// All are borrowed.
  InputDecoder(IdReader& ids, Printer& printer, Messages& messages)
      : ids_(ids), printer_(printer), messages_(messages) {}

  std::size_t bad() const { return bad_; }

  /// An ID a line.
  void decode_lines() {
    std::size_t number = 0;
    read([&](std::string_view lines) {
      while (!lines.empty()) {
        const auto end = std::min(lines.find('\n'), lines.size());
        auto line = lines.substr(0, end);
        lines.remove_prefix(std::min(end + 1, lines.size()));
        if (line.ends_with('\r')) line.remove_suffix(1);
        decode(++number, line);
      }
    });
  }

  /// An ID in a column of each record.
  void decode_column(const ColumnReader::Options& options) {
    ColumnReader column(options);
    read([&](std::string_view lines) {
      if (lines.size() == LineReader::max_line && !lines.ends_with('\n')) {
        decode_fields(column, true);
        add(column.skip_line(fmt::format("it is longer than {} bytes", lines.size())));
      } else {
        column.add(lines);
        decode_fields(column, false);
      }
    });
    decode_fields(column, true);
    printer_.flush();
  }

 private:
  /// Calls `take` with all lines, as LineReader returns them.
  template <class Take>
  void read(Take take) {
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    LineReader reader(STDIN_FILENO, "standard input");
    bool is_first = true;
    for (auto lines = reader.next_lines(); !lines.empty(); lines = reader.next_lines()) {
      if (std::exchange(is_first, false) && lines.starts_with(byte_order_mark)) {
        lines.remove_prefix(byte_order_mark.size());
      }
      take(lines);
      printer_.flush();
    }
  }

  void decode_fields(ColumnReader& column, bool is_last) {
    while (const auto field = column.next(is_last)) add(*field);
  }

  void add(const ColumnReader::Field& field) {
    if (field.mistake.empty()) {
      decode(field.line, field.text);
    } else {
      report(field.line, field.mistake);
    }
  }

  void decode(std::size_t line, std::string_view text) {
    if (const auto id = ids_.read(text)) {
      printer_.add(*id);
    } else {
      report(line, ids_.error(text).what());
    }
  }

  void report(std::size_t line, std::string_view mistake) {
    ++bad_;
    messages_.error(fmt::format("line {}: {}", line, mistake));
  }

  IdReader& ids_;
  Printer& printer_;
  Messages& messages_;
  std::size_t bad_ = 0;
};

class Decode : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Prints what snowflake IDs hold: the time each was made, its worker and its sequence number.");
    command.add_texts_argument("ID", "", ids_,
                               "IDs to decode; with - or none, read from standard input, one per line");
    columns_.declare(command);
    form_.declare(command, IdFormOptions::Use::read);
    layout_.declare(command);
    command.add_examples(
        "Prints id, layout, time (UTC), unix_ms, then the layout's own fields such as\n"
        "worker and sequence: tab-separated in a pipe, one object per line with -o json.\n"
        "An ID in another form than decimal is read only where --format or --template\n"
        "names that form, as 'leafctl next' wrote it; truncated text is refused.\n"
        "Hex and base32 are read in either case, and base32's I and L as 1, O as 0.\n"
        "A line that is no ID is reported by its number, and the exit status is 1.\n"
        "In a CSV a field may be in double quotes, which are doubled within; in a TSV\n"
        "quotes mean nothing. Of each record the ID is printed, and nothing else.\n\n"
        "Examples:\n"
        "  leafctl decode 1256557484213448722\n"
        "  leafctl decode --layout discord 175928847299117063\n"
        "  leafctl decode --format base62 1Up2tABQZwQ\n"
        "  psql -Atc 'select id from orders' | leafctl decode -o json\n"
        "  leafctl decode --column order_id <orders.csv");
  }

  bool uses_store() const override { return false; }

  void run(Session& session) override {
    const auto layout = layout_.layout(session.settings());
    IdReader reader(layout, form_.form());
    if (ids_.empty()) ids_ = {"-"};
    const auto column = column_options();
    for (const auto& text : ids_) {
      if (text != "-" && !reader.read(text)) throw error_of_argument(reader, text);
    }
    Printer printer(layout, session.output);
    InputDecoder input(reader, printer, session.messages);
    for (const auto& text : ids_) {
      if (text == "-") {
        printer.flush();
        tell_of_typed_ids(STDIN_FILENO, session.messages);
        if (column) {
          input.decode_column(*column);
        } else {
          input.decode_lines();
        }
      } else {
        printer.add(*reader.read(text));
      }
    }
    printer.flush();
    if (input.bad() != 0) {
      throw leaf::Error(leaf::ErrorCode::failed,
                        leaf::detail::counted(static_cast<std::int64_t>(input.bad()), "line") + " held no ID",
                        reader.hint());
    }
  }

 private:
  static leaf::Error error_of_argument(IdReader& reader, const std::string& text) {
    const leaf::Error error = reader.error(text);
    if (access(text.c_str(), F_OK) != 0) return error;
    return {error.code(), error.what(), "to read the file of that name, put '<' before it"_hint};
  }

  std::optional<ColumnReader::Options> column_options() const {
    auto options = columns_.options();
    if (options && std::ranges::find(ids_, "-") == ids_.end()) {
      throw leaf::Error(leaf::ErrorCode::usage, "'--column' is for standard input, which no ID asks for",
                        "leave the IDs out, or name - among them"_hint);
    }
    return options;
  }

  std::vector<std::string> ids_;
  ColumnOptions columns_;
  IdFormOptions form_;
  LayoutOptions layout_;
};

}  // namespace

std::unique_ptr<Command> make_decode() {
  return std::make_unique<Decode>();
}

}  // namespace leafctl
