#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "audit/audit.hpp"
#include "audit/id_input.hpp"
#include "audit/rate_plot.hpp"
#include "audit/report.hpp"
#include "cli/declaration.hpp"
#include "commands.hpp"
#include "ids/column_options.hpp"
#include "ids/id_form_options.hpp"
#include "ids/layout_options.hpp"
#include "leaf/detail/counted.hpp"
#include "leaf/detail/query_lines.hpp"
#include "leaf/store.hpp"
#include "terminal/input_file.hpp"
#include "terminal/line_reader.hpp"
#include "text/grouped.hpp"
#include "text/hint.hpp"
#include "text/numbers.hpp"
#include "text/time_text.hpp"

namespace leafctl {

namespace {

constexpr std::string_view guess = "guess";
constexpr std::string_view dense = "dense";

/// What --fail-on takes beside `none`.
constexpr std::string_view failings[] = {"repeats", "shared_workers", "clocks",  "outside",
                                         "layout",  "shards",         "runs_out"};

leaf::Error usage(const std::string& what, const std::string& hint = {}) {
  return {leaf::ErrorCode::usage, what, hint};
}

/// A larger pipe is waited for less often. Where that is not allowed, or it is no pipe, it stays as it is.
void widen_pipe(int descriptor) {
  constexpr int bytes = 1 << 20;
  static_cast<void>(fcntl(descriptor, F_SETPIPE_SZ, bytes));
}

bool writes_utf8(const Environment& environment) {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (const auto value = environment.variable(name))
      return value->find("UTF-8") != std::string::npos || value->find("utf8") != std::string::npos;
  }
  return false;
}

class AuditCommand : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Examines IDs of any system and reports repeats, workers that two hosts share, clocks that went "
        "back, "
        "rates, gaps, and when the IDs run out. Reads a file or standard input, one ID per line or a column "
        "of it, or a query. Needs no store.");
    command.add_text_option("FILE", "FILE", file_, "what to examine; with - or none, standard input is read");
    columns_.declare(command);
    command.add_text_option("--sql", "QUERY", query_,
                            "read the IDs from a query in PostgreSQL, such as 'SELECT id FROM orders'");
    command.add_text_option(
        "--dsn", "URL", dsn_,
        "database for --sql, as a libpq connection string or URL (default: from PGHOST and the like)");
    form_.declare(command, IdFormOptions::Use::read);
    layout_.declare(command,
                    "guess, by the first 65,536 IDs and with the setting 'layout' among the candidates); or "
                    "dense, for numbers that are counted up (as those of a tag");
    command.add_text_option("--memory", "SIZE", memory_,
                            "memory to use, such as 4M, 512M or 4G; the rest goes into temporary "
                            "files in TMPDIR (default: 512M)");
    command.add_integer_option("--examples", "N", examples_, {0, 1'000'000},
                               "maximum number of repeats, workers and gaps to list (default: 10)");
    command.add_text_option("--since", "TIME", since_,
                            "when the lowest of the dense IDs was made, to estimate how long they last");
    command.add_text_option("--fail-on", "FINDING,...|none", fail_on_,
                            "exit with status 1 if one of these findings is not ok (default: repeats)");
    command.add_text_option("--plot", "auto|always|never", plot_,
                            "plot the rate over time (default: auto, only on a terminal)");
    command.add_examples(
        "Prints finding, state (ok, unknown, warning or failed), detail, subject and\n"
        "measures, which are named numbers: tab-separated in a pipe, one object per line\n"
        "with -o json. A terminal shows a table without the measures.\n\n"
        "Repeats are found exactly, for any number of IDs in any order. The exit status\n"
        "is 1 if there are any, or if a line holds no ID.\n\n"
        "Examples:\n"
        "  psql -Atc 'SELECT id FROM orders ORDER BY created_at' | leafctl audit\n"
        "  leafctl audit --sql 'SELECT id FROM orders' --dsn service=shop\n"
        "  leafctl audit --column order_id --layout twitter -o json orders.csv\n"
        "  leafctl audit --layout dense --since 2024-03-01 ids");
  }

  bool uses_store() const override { return false; }

  void run(Session& session) override {
    const Environment environment = environment_of_this_process();
    const leaf::UnixTime now = current_time();
    const bool draws = parse_plot(session.output);
    const std::vector<std::string> fail_on = parse_fail_on();
    const std::optional<leaf::UnixTime> since =
        since_ ? std::optional(parse_time("--since", *since_, now)) : std::nullopt;
    const Audit::Options options = audit_options(session, environment, now);
    Audit audit(options);
    IdInput input(
        input_options(options), [&audit](auto ids) { audit.add(ids); }, session.messages);
    read(input, session);
    audit.finish();
    if (audit.sorting().file_size() != 0)
      session.messages.detail(fmt::format("temporary file: {} bytes", grouped(audit.sorting().file_size())));
    const Findings findings =
        report(audit, {.now = now, .since = since, .bad = input.bad(), .examples = options.examples});
    print_findings(findings, session.output);
    if (draws && audit.layout()) {
      const auto letters = writes_utf8(environment) ? PlotLetters::blocks : PlotLetters::ascii;
      session.output.print_text("\n" + rate_plot(audit.tally().series(), *audit.layout(),
                                                 session.output.flushed_file().line_width(), letters));
    }
    session.output.flush();
    fail(findings, fail_on, input, session.messages);
  }

 private:
  bool parse_plot(const Output& output) const {
    const std::string plot = plot_.value_or("auto");
    if (plot != "auto" && plot != "always" && plot != "never")
      throw usage(fmt::format("'--plot' takes auto, always or never, not '{}'", plot));
    if (output.format() == OutputFormat::json) {
      if (plot == "always") throw usage("'--plot always' is for text, not for '--output json'");
      return false;
    }
    return plot == "always" || (plot == "auto" && output.is_terminal());
  }

  std::vector<std::string> parse_fail_on() const {
    const std::string list = fail_on_.value_or("repeats");
    std::vector<std::string> names;
    if (list == "none") return names;
    for (std::size_t begin = 0; begin <= list.size();) {
      const std::size_t end = std::min(list.find(',', begin), list.size());
      names.push_back(list.substr(begin, end - begin));
      begin = end + 1;
      if (std::ranges::find(failings, names.back()) == std::end(failings)) {
        throw usage(fmt::format("'--fail-on' takes none or some of {}, not '{}'", fmt::join(failings, ","),
                                names.back()));
      }
    }
    return names;
  }

  Audit::Options audit_options(const Session& session, const Environment& environment,
                               leaf::UnixTime now) const {
    Audit::Options options{.now = now};
    options.layout = session.settings().layout;
    if (layout_.name() == dense) {
      options.kind = Audit::Kind::dense;
    } else if (layout_.is_named() && layout_.name() != guess) {
      options.kind = Audit::Kind::snowflake;
      options.layout = layout_.layout(session.settings());
    }
    if (since_ && options.kind == Audit::Kind::snowflake)
      throw usage("'--since' is for dense IDs: snowflake IDs tell their times");
    options.examples = static_cast<std::size_t>(examples_.value_or(10));
    constexpr IntegerBounds sizes{AscendingIds::enough_memory, std::int64_t{1} << 44};
    if (memory_) options.sorting.memory = static_cast<std::size_t>(parse_size("--memory", *memory_, sizes));
    options.sorting.folder = environment.variable("TMPDIR").value_or("/tmp");
    return options;
  }

  IdInput::Options input_options(const Audit::Options& audit) const {
    // One that holds every number: which of them can be IDs of the layout is a finding.
    IdInput::Options options{.form = form_.form(), .layout = leaf::Layout::parse("mastodon")};
    if (query_) options.line = "row";
    if (!options.form || options.form->text().find("{date") == std::string::npos) return options;
    if (audit.kind != Audit::Kind::snowflake) {
      throw usage("the date in '--template' is read by a layout",
                  "name the layout of the IDs with '--layout'"_hint);
    }
    options.layout = *audit.layout;
    return options;
  }

  void read(IdInput& input, Session& session) const {
    const auto column = columns_.options();
    if (dsn_ && !query_) throw usage("'--dsn' requires '--sql'");
    if (query_) {
      if (column) throw usage("'--column' is for a file or standard input, not for '--sql'");
      if (file_) throw usage("IDs come from a file or from '--sql', not from both");
      if (dsn_ && leaf::redact_url(*dsn_) != *dsn_) {
        session.messages.warning("the password in '--dsn' can be seen by other users of this machine",
                                 "keep it in a file that PGPASSFILE names"_hint);
      }
      const auto lines =
          leaf::detail::query_lines(dsn_.value_or(""), *query_, program_name, session.settings().timeout);
      return input.read_lines([&lines] { return lines->next_lines(); });
    }
    const OpenInput file(file_.value_or("-"));
    tell_of_typed_ids(file.descriptor(), session.messages);
    widen_pipe(file.descriptor());
    LineReader reader(file.descriptor(),
                      file.descriptor() == STDIN_FILENO ? file.name() : fmt::format("'{}'", file.name()));
    const auto next_lines = [&reader] { return reader.next_lines(); };
    if (column) {
      input.read_column(next_lines, *column);
    } else {
      input.read_lines(next_lines);
    }
  }

  static void fail(const Findings& findings, const std::vector<std::string>& fail_on, const IdInput& input,
                   Messages& messages) {
    std::vector<std::string> reasons;
    for (const std::string& name : fail_on) {
      const auto is_it = [&](const Finding& finding) {
        return finding.name == name && finding.state != FindingState::ok;
      };
      if (const auto found = std::ranges::find_if(findings, is_it); found != findings.end())
        reasons.push_back(name + ": " + found->detail);
    }
    if (input.bad() > IdInput::most_reports)
      messages.error(fmt::format("and {} more", grouped(input.bad() - IdInput::most_reports)));
    if (input.bad() != 0)
      reasons.push_back(leaf::detail::counted(static_cast<std::int64_t>(input.bad()), "line") +
                        " held no ID");
    if (reasons.empty()) return;
    const std::string last = reasons.back();
    reasons.pop_back();
    for (const std::string& reason : reasons) messages.error(reason);
    throw leaf::Error(leaf::ErrorCode::failed, last);
  }

  std::optional<std::string> file_;
  ColumnOptions columns_;
  std::optional<std::string> query_;
  std::optional<std::string> dsn_;
  IdFormOptions form_;
  LayoutOptions layout_;
  std::optional<std::string> memory_;
  std::optional<std::int64_t> examples_;
  std::optional<std::string> since_;
  std::optional<std::string> fail_on_;
  std::optional<std::string> plot_;
};

}  // namespace

std::unique_ptr<Command> make_audit() {
  return std::make_unique<AuditCommand>();
}

}  // namespace leafctl
