#include <fmt/format.h>

#include "commands.hpp"
#include "id_writer.hpp"
#include "leaf/tag.hpp"
#include "options.hpp"
#include "record_text.hpp"

namespace leafctl {

namespace {

struct TagRange {
  std::string tag;
  leaf::Range ids;
};

constexpr Column<TagRange> range_columns[] = {
    {"tag", [](const TagRange& range) -> Cell { return range.tag; }},
    {"first", [](const TagRange& range) -> Cell { return Id{range.ids.lo}; }},
    {"last", [](const TagRange& range) -> Cell { return Id{range.ids.hi - 1}; }},
};

/// The line of one ID, cut where the ID goes.
struct Line {
  std::string before;
  std::string after;
};

Line line_of(const std::string& tag, OutputFormat format) {
  if (format == OutputFormat::text) return {"", "\n"};
  static constexpr const char* keys[] = {"tag", "id"};
  const std::string line = json_line(keys, {tag, std::string()});
  const std::size_t quote = line.rfind('"');
  return {line.substr(0, quote), line.substr(quote)};
}

/// From nine tenths of what the tag may give on.
void warn_if_nearly_used_up(const leaf::TagName& tag, const leaf::Grant& grant, Messages& messages) {
  const std::int64_t left = grant.limit - (grant.range.hi - 1);
  if (left > grant.limit / 10) return;
  const bool is_limited = grant.limit < leaf::max_id;
  messages.warning(
      fmt::format("tag '{}' has {} IDs left up to its {} {}", tag.str(), left,
                  is_limited ? "limit" : "end at", grant.limit),
      is_limited ? fmt::format("raise it with 'leafctl tags update {} --limit ID'", tag.str()) : "");
}

class Next : public Command {
 public:
  void setup(CLI::App& app) override {
    app.description("Prints new IDs of a tag, one a line, in increasing order. None is ever printed twice.");
    add_tag_argument(app, tag_, "the tag to draw from");
    add_integer_option(app, "-n,--count", "N", count_, {1, leaf::max_id},
                       fmt::format("how many IDs, 1 to {}; all or none (default: 1)", leaf::max_id));
    app.add_flag("--direct", direct_, "take exactly N consecutive IDs from the store, in order across hosts");
    app.add_flag("--ranges", ranges_,
                 "print the first and the last ID of each run, tab-separated, not each ID");
    app.footer(
        "Examples:\n"
        "  leafctl next order\n"
        "  leafctl next order -n 1000 --ranges");
  }

  void run(Session& session) override {
    const leaf::Grant grant = session.store().grant(*tag_, count_.value_or(1));
    session.messages.detail(fmt::format("granted {} to {}", grant.range.lo, grant.range.hi - 1));
    warn_if_nearly_used_up(*tag_, grant, session.messages);
    if (ranges_) {
      print_range(grant.range, session.output);
    } else {
      print_ids(grant.range, session.output);
    }
  }

 private:
  void print_range(leaf::Range ids, Output& output) const {
    if (output.format() == OutputFormat::json) {
      output.print_one(range_columns, {tag_->str(), ids});
    } else {
      output.print_text(fmt::format("{}\t{}\n", ids.lo, ids.hi - 1));
    }
  }

  void print_ids(leaf::Range ids, Output& output) const {
    const Line line = line_of(tag_->str(), output.format());
    IdWriter(output.flushed_file(), line.before, line.after).write(ids);
  }

  std::optional<leaf::TagName> tag_;
  std::optional<std::int64_t> count_;
  bool direct_ = false;
  bool ranges_ = false;
};

}  // namespace

std::unique_ptr<Command> make_next() {
  return std::make_unique<Next>();
}

}  // namespace leafctl
