#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/declaration.hpp"
#include "cli/missing_store.hpp"
#include "commands.hpp"
#include "ids/id_form_options.hpp"
#include "ids/id_lines.hpp"
#include "ids/one_store.hpp"
#include "ids/snowflake_ids.hpp"
#include "leaf/detail/supply_text.hpp"
#include "leaf/error.hpp"
#include "leaf/segment.hpp"
#include "leaf/tag.hpp"
#include "tags/granted_marks.hpp"
#include "tags/meant_tag.hpp"
#include "tags/tag_command.hpp"
#include "terminal/detached_process.hpp"
#include "terminal/waiting_notice.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

constexpr std::array<std::string_view, 7> snowflake_setting_keys{
    "layout", "worker_name", "worker_id", "window", "max_skew", "max_backward", "recycle_after"};

/// As many IDs of a tag are granted at once for a long output: one that is interrupted wastes no more, and
/// they take so long to print that a grant in between does not count.
constexpr std::int64_t piece = 16'777'216;

struct TagRange {
  std::string tag;
  leaf::Range ids;
};

constexpr Column<TagRange> range_columns[] = {
    {"tag", [](const TagRange& range) -> Cell { return range.tag; }},
    {"first", [](const TagRange& range) -> Cell { return Id{range.ids.lo}; }},
    {"last", [](const TagRange& range) -> Cell { return Id{range.ids.hi - 1}; }},
};

void warn_if_nearly_used_up(const leaf::TagName& tag, const leaf::TagSupply& ids, Messages& messages) {
  if (!ids.is_low()) return;
  const std::string left = leaf::detail::supply_text(tag.str(), ids);
  if (ids.limit == leaf::max_id) {
    messages.warning(left);
    return;
  }
  messages.warning(left, fmt::format("raise it with 'leafctl tags update {}'"_hint,
                                     tag_arguments(tag.str(), "--limit ID")));
}

class Next : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Prints new IDs of a tag, or snowflake IDs, one per line and in increasing order. No ID is ever "
        "printed twice.");
    command.add_tag_argument(tag_, "the tag to draw from", Presence::optional);
    command.add_flag("--snowflake", snowflake_,
                     "print snowflake IDs, which hold the time they were made, instead of a tag's");
    static_assert(leaf::max_id == 9'223'372'036'854'775'806);
    command.add_integer_option("-n,--count", "N", count_, {1, leaf::max_id},
                               "how many IDs, 1 to 9223372036854775806; for a tag, all or none (default: 1)");
    command.add_flag("--direct", direct_,
                     "take exactly N consecutive IDs from the store, in order across hosts");
    command.add_flag("--ranges", ranges_,
                     "print the first and last ID of each run, tab-separated, instead of each ID");
    command.add_flag(
        "--release-on-exit", release_,
        "free the worker on exit, and use no host buffer: for --snowflake in short-lived containers");
    form_.declare(command, IdFormOptions::Use::write);
    command.add_examples(
        "With -o json each ID is an object, {\"tag\":\"order\",\"id\":\"1\"} of a tag and\n"
        "{\"id\":\"1256557484213448722\"} with --snowflake.\n"
        "Only --snowflake takes the options on layout, workers, windows and clocks.\n"
        "Only tags take --direct and --ranges.\n\n"
        "Every form holds its ID in full and can be undone: 'leafctl decode' takes the\n"
        "--format or --template in which a snowflake ID was written. A template has {id}\n"
        "once and any number of dates:\n"
        "  {id}           decimal\n"
        "  {id:>012}      at least 12 characters, padded with zeros; {id:>12} with spaces\n"
        "  {id:base62}    in another base; {id:>08hex} in at least 8 digits\n"
        "  {date:%Y%m%d}  in UTC: the time in a snowflake ID, otherwise that of printing;\n"
        "                 it takes %Y %m %d %H %M %S %j %y %F %T; {{ and }} are braces\n"
        "With -o json the form is in \"text\", beside the \"id\" in decimal.\n\n"
        "Examples:\n"
        "  leafctl next order\n"
        "  leafctl next order -n 1000 --ranges\n"
        "  leafctl next order --template 'ORD-{date:%Y%m%d}-{id:>012}'\n"
        "  leafctl next --snowflake -n 1000\n"
        "  leafctl next --snowflake --worker-name \"$HOSTNAME\" --release-on-exit");
  }

  std::vector<std::string_view> setting_keys() const override {
    std::vector<std::string_view> keys{host_setting_keys.begin(), host_setting_keys.end()};
    keys.insert(keys.end(), snowflake_setting_keys.begin(), snowflake_setting_keys.end());
    return keys;
  }

  void run(Session& session) override {
    check_usage(session.configuration);
    if (snowflake_) {
      print_snowflake_ids(count_.value_or(1), form_.form(), release_ ? AtEnd::release : AtEnd::keep, session);
    } else {
      print_ids_of_tag(session);
    }
  }

 private:
  static leaf::Error usage(const std::string& what, const std::string& hint = {}) {
    return {leaf::ErrorCode::usage, what, hint};
  }

  void check_usage(const Configuration& configuration) const {
    if (!tag_ && !snowflake_) {
      throw usage("argument 'TAG' is missing", "give a tag, or '--snowflake' for IDs without one"_hint);
    }
    if (tag_ && snowflake_) {
      throw usage(fmt::format("'--snowflake' does not take a tag, but '{}' was given", tag_->str()));
    }
    if (snowflake_ && (direct_ || ranges_)) {
      throw usage(fmt::format("'{}' is for tags, not for '--snowflake'", direct_ ? "--direct" : "--ranges"));
    }
    if (release_ && !snowflake_) throw usage("'--release-on-exit' is for '--snowflake', not for tags");
    // Before anything is drawn, so that a bad form costs no ID.
    if (const bool has_form = form_.form().has_value(); has_form && ranges_) {
      throw usage("'--ranges' prints plain numbers", "leave '--format' and '--template' out"_hint);
    }
    if (snowflake_) return;
    for (const SettingOrigin& setting : configuration.origins) {
      if (setting.origin == setting.setting->long_flag() &&
          std::ranges::find(snowflake_setting_keys, setting.setting->key) != snowflake_setting_keys.end())
        throw usage(fmt::format("'{}' is for '--snowflake', not for tags", setting.origin));
    }
  }

  void print_ids_of_tag(Session& session) const {
    const auto host = session.host();
    try {
      if (host && !direct_) {
        print_ids_of_host(*host, session);
      } else {
        print_ids_of_store(session);
      }
    } catch (const leaf::Error& error) {
      throw with_meant_tag(error, *tag_, session, NewTag::proposed);
    }
  }

  void print_ids_of_host(const leaf::HostOptions& host, Session& session) const {
    MissingMarks marks(session);
    // No longer segments for who takes all that is left at once: the guard after a failover goes by them.
    leaf::SegmentAllocator allocator(
        marks.store_options(),
        {.timeout = session.settings().timeout, .max_starved_step = leaf::max_step, .host = host});
    leaf::SegmentTag tag = allocator.tag(*tag_);
    const std::int64_t count = count_.value_or(1);
    const std::int64_t at_once = count > piece && may_go_in_pieces(count, session) ? piece : count;
    OneStore store;
    for (std::int64_t left = count; left > 0;) {
      const auto ranges = waited_for(session.messages, session.settings().timeout, [&] {
        return drawn(tag, static_cast<std::uint64_t>(std::min(left, at_once)), marks);
      });
      marks.report();
      store.require(tag.store(), std::min(left, at_once));
      left -= std::min(left, at_once);
      if (left == 0) warn_if_nearly_used_up(*tag_, tag.supply(), session.messages);
      print(ranges, session.output);
    }
    session.output.flush();
    if (!tag.claim_fetch()) return;
    marks.look();
    marks.report();
    run_in_detached_process([&tag] { tag.fetch(); });
  }

  /// What the store refuses may look otherwise without a record.
  static std::vector<leaf::Range> drawn(leaf::SegmentTag& tag, std::uint64_t count, MissingMarks& marks) {
    try {
      return tag.next_ranges(count);
    } catch (const leaf::Error&) {
      marks.report();
      throw;
    }
  }

  /// Whether the store has all of them. What is buffered does not count: where it matters, one grant of all
  /// that the buffer lacks leaves nothing printed if it is refused.
  bool may_go_in_pieces(std::int64_t count, Session& session) const {
    if (ranges_) return false;
    return count <= leaf::supply_of(session.store().tag(*tag_)).left;
  }

  void print_ids_of_store(Session& session) const {
    MissingMarks marks(session);
    marks.look();
    marks.report();
    leaf::Store store = session.store();
    const leaf::Grant grant = store.grant(*tag_, count_.value_or(1));
    marks.look();
    marks.report();
    remember_store(session, store, grant.store);
    session.messages.detail(fmt::format("granted {} to {}", grant.range.lo, grant.range.hi - 1));
    warn_if_nearly_used_up(*tag_, leaf::supply_of(grant.start, grant.limit, grant.range.hi),
                           session.messages);
    print({grant.range}, session.output);
  }

  void print(const std::vector<leaf::Range>& ranges, Output& output) const {
    if (ranges_) {
      for (const leaf::Range range : ranges) print_range(range, output);
      return;
    }
    IdLines lines(output, tag_->str(), form_.form());
    for (const leaf::Range range : ranges) lines.write(range);
  }

  void print_range(leaf::Range ids, Output& output) const {
    if (output.format() == OutputFormat::json) {
      output.print_one(range_columns, {tag_->str(), ids});
    } else {
      output.print_text(fmt::format("{}\t{}\n", ids.lo, ids.hi - 1));
    }
  }

  std::optional<leaf::TagName> tag_;
  std::optional<std::int64_t> count_;
  IdFormOptions form_;
  bool snowflake_ = false;
  bool release_ = false;
  bool direct_ = false;
  bool ranges_ = false;
};

}  // namespace

std::unique_ptr<Command> make_next() {
  return std::make_unique<Next>();
}

}  // namespace leafctl
