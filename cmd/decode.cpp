#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "commands.hpp"
#include "decoded_id.hpp"
#include "id_text.hpp"
#include "layout_options.hpp"
#include "line_reader.hpp"
#include "options.hpp"

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
      rows_.push_back(decoded_.row(id));
    }
  }

  void flush() {
    if (!rows_.empty()) {
      if (has_rows_above_) output_.print_text("\n");
      has_rows_above_ = true;
      if (rows_.size() == 1) {
        output_.print_one(decoded_.keys(), rows_.front());
      } else {
        output_.print_list(decoded_.keys(), rows_);
      }
    }
    output_.flushed_file().write(lines_);
    rows_.clear();
    lines_.clear();
  }

 private:
  DecodedId decoded_;
  Output& output_;
  bool has_rows_above_ = false;
  std::string lines_;
  std::vector<Row> rows_;
};

/// Decodes standard input to its end and returns how many of its lines held no ID.
std::size_t decode_lines(const leaf::Layout& layout, Printer& printer, Messages& messages) {
  LineReader reader(STDIN_FILENO, "standard input");
  std::size_t number = 0;
  std::size_t bad = 0;
  for (auto lines = reader.next_lines(); !lines.empty(); lines = reader.next_lines()) {
    while (!lines.empty()) {
      const auto end = std::min(lines.find('\n'), lines.size());
      const auto line = lines.substr(0, end);
      lines.remove_prefix(std::min(end + 1, lines.size()));
      ++number;
      if (const auto id = parse_id(line, layout)) {
        printer.add(*id);
      } else {
        ++bad;
        messages.error(fmt::format("line {}: {}", number, id_error(line, layout).what()));
      }
    }
    printer.flush();
  }
  return bad;
}

class Decode : public Command {
 public:
  void setup(CLI::App& app) override {
    app.description(
        "Prints what snowflake IDs hold: when each was made, by which worker, with which sequence number.");
    add_texts_option(app, "ID", "", ids_,
                     "IDs to decode; - or none reads them from standard input, one a line");
    layout_.declare(app);
    app.footer(
        "Prints id, layout, time (UTC), unix_ms, then the layout's own fields such as\n"
        "worker and sequence: tab-separated in a pipe, an object a line with -o json.\n"
        "A line that is no ID is reported by its number, and the exit status is 1.\n\n"
        "Examples:\n"
        "  leafctl decode 1256557484213448722\n"
        "  leafctl decode --layout discord 175928847299117063\n"
        "  psql -Atc 'select id from orders' | leafctl decode -o json");
  }

  void run(Session& session) override {
    const auto layout = layout_.layout(session.settings());
    if (ids_.empty()) ids_ = {"-"};
    for (const auto& text : ids_) {
      if (text != "-" && !parse_id(text, layout)) throw id_error(text, layout);
    }
    Printer printer(layout, session.output);
    std::size_t bad = 0;
    for (const auto& text : ids_) {
      if (text == "-") {
        printer.flush();
        bad += decode_lines(layout, printer, session.messages);
      } else {
        printer.add(*parse_id(text, layout));
      }
    }
    printer.flush();
    if (bad != 0) {
      throw leaf::Error(leaf::ErrorCode::failed, fmt::format("{} of the lines held no ID", bad),
                        fmt::format("an ID of layout '{}' is a number from 0 to {}", layout.name(),
                                    layout.last_id(layout.last_time())));
    }
  }

 private:
  std::vector<std::string> ids_;
  LayoutOptions layout_;
};

}  // namespace

std::unique_ptr<Command> make_decode() {
  return std::make_unique<Decode>();
}

}  // namespace leafctl
