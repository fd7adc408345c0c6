#include "simulation/store_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <string_view>
#include <utility>

#include "leaf/error.hpp"
#include "store/uuid.hpp"

namespace leaf::simulation {

namespace {

using store::Row;
using store::Value;
using Rows = StoreModel::Rows;
using Columns = std::vector<std::optional<std::string>>;

constexpr std::int64_t no_limit = 9'223'372'036'854'775'806;
constexpr std::int64_t minute_ms = 60'000;
constexpr std::int64_t day_ms = 86'400'000;
constexpr std::int64_t last_integer = 2'147'483'647;
__extension__ using Wide = __int128;

/// One statement at one moment.
class Statement {
 public:
  Statement(StoreModel& model, StoreModel::Parameters parameters, std::int64_t clock, Random& random)
      : model_(model),
        tables_(model.tables),
        here_(model.here),
        parameters_(parameters),
        clock_(clock),
        random_(random) {}

  Rows schema() {
    return {Row(
        {number(StoreModel::schema_version), meta().deployment.text(), number(1), number(6), std::nullopt})};
  }
  Rows identity() { return {Row({meta().deployment.text(), granter(here_)})}; }
  Rows begin_deployment() {
    if (meta().deployment != Uuid::parse(text(1))) return {};
    update_meta([&](MetaRow& row) { row.deployment = Uuid::parse(text(2)); });
    return {Row({meta().deployment.text()})};
  }
  Rows nothing() { return {}; }
  Rows clock() { return {Row({number(clock_)})}; }

  // Tags.

  Rows grant_exactly() {
    TagRow* const row = tag();
    const std::int64_t count = integer(2);
    if (row == nullptr || count - 1 > row->limit.value_or(no_limit) - row->max_id || !is_above_floor(*row))
      return {};
    return grant(*row, count);
  }
  Rows grant_segment() {
    TagRow* const row = tag();
    if (row == nullptr || row->max_id > row->limit.value_or(no_limit) || !is_above_floor(*row)) return {};
    return grant(*row, std::min(std::max({row->step, integer(2), std::int64_t{1}}),
                                row->limit.value_or(no_limit) - row->max_id + 1));
  }
  Rows add_tag() {
    const auto start = optional(3), limit = optional(4);
    if (!is_file() && !start && std::ssize(tables_.tags) < meta().tags) {
      throw Error(ErrorCode::refused, "table leaf_alloc has lost rows: this tag may have been one of them",
                  {}, "LF003");
    }
    TagRow* const row = find(text(1));
    if (row == nullptr) {
      tables_.tags.push_back({.name = text(1),
                              .max_id = start.value_or(1),
                              .step = integer(2),
                              .start = start.value_or(1),
                              .limit = limit,
                              .incarnation = Uuid::random(random_),
                              .granted_by = here_});
      if (!is_file() && meta().tags < std::ssize(tables_.tags))
        update_meta([&](MetaRow& changed) { changed.tags = std::ssize(tables_.tags); });
      return {tag_row(tables_.tags.back())};
    }
    if (!row->is_removed || (start && *start < row->max_id) || (limit && *limit < row->max_id - integer(6)))
      return {};
    update_tag(*row, [&](TagRow& changed) {
      changed.step = integer(2);
      changed.max_id = std::max(row->max_id, start.value_or(1));
      changed.start = changed.max_id;
      changed.limit = limit;
      changed.last_grant = 0;
      changed.incarnation = Uuid::random(random_);
      changed.is_removed = false;
    });
    return {tag_row(*row)};
  }
  Rows tags() {
    Rows rows;
    for (const TagRow& row : tables_.tags) {
      if (!row.is_removed) rows.push_back(tag_row(row));
    }
    return rows;
  }
  Rows all_tags() {
    Rows rows;
    for (const TagRow& row : tables_.tags) rows.push_back(tag_or_tombstone(row));
    return rows;
  }
  Rows one_tag() {
    const TagRow* const row = find(text(1));
    Columns columns = row == nullptr ? Columns(9) : tag_columns(*row);
    columns.push_back(number(row != nullptr && row->is_removed ? 1 : 0));
    columns.push_back(meta().deployment.text());
    return {Row(std::move(columns))};
  }
  Rows change_tag() {
    TagRow* const row = tag();
    if (row == nullptr) return {};
    const auto limit = integer(6) == 1 ? std::nullopt : optional(3) ? optional(3) : row->limit;
    const std::int64_t next = std::max(row->max_id, optional(5).value_or(row->max_id));
    if ((optional(3) || optional(5)) && next - 1 > limit.value_or(no_limit)) return {};
    update_tag(*row, [&](TagRow& changed) {
      changed.step = optional(2).value_or(row->step);
      changed.limit = limit;
      changed.max_id = next;
    });
    return {tag_row(*row)};
  }
  Rows remove_tag() {
    TagRow* const row = integer(2) == 1 ? find(text(1)) : tag();
    if (row == nullptr) return {};
    update_tag(*row, [&](TagRow& changed) { changed.is_removed = true; });
    return {Row({row->name})};
  }

  // The guard.

  Rows guard_steps() { return {Row({number(meta().guard_steps)})}; }
  Rows set_guard_steps() {
    update_meta([&](MetaRow& row) { row.guard_steps = integer(1); });
    return {};
  }
  Rows leases_from() {
    if (!is_same_lessor()) update_meta([](MetaRow&) {});
    return {Row({number(meta().leases_from), number(clock_)})};
  }
  Rows failover() {
    return {
        Row({here_.text(), number(is_same_lessor() ? 1 : 0), number(meta().leases_from), number(clock_)})};
  }
  Rows failover_tags() {
    Rows rows;
    for (const TagRow* const row : tags_by_name()) {
      const bool waits = server_text(row->granted_by) != text(1);
      const bool has_left_out = row->left_out_from && *row->left_out_to > *row->left_out_from;
      if (!waits && (row->is_removed || !has_left_out)) continue;
      rows.push_back(Row({row->name, number(waits ? 1 : 0),
                          row->granted_by ? std::optional(row->granted_by->text()) : std::nullopt,
                          optional_number(row->left_out_from), optional_number(row->left_out_to),
                          number(row->is_removed ? 1 : 0)}));
    }
    return rows;
  }
  Rows settle_failover() {
    const bool nothing_lost = integer(2) == 1, by_any = integer(3) == 1;
    const std::int64_t steps = meta().guard_steps;
    update_meta([](MetaRow&) {});
    if (here_.text() != text(1))
      throw Error(ErrorCode::refused, "another server has taken over meanwhile", {}, "LF006");
    const std::optional<ServerName> before = server_before();
    const auto is_said_of = [&](const std::optional<ServerName>& name) {
      return nothing_lost && (by_any || (name && name == before));
    };
    if (nothing_lost) {
      const bool is_said = is_said_of(meta().granted_before);
      update_meta([&](MetaRow& row) {
        if (is_said) row.leases_from = by_any ? 0 : row.leases_before;
      });
    }
    Rows rows;
    for (TagRow* const row : tags_by_name()) {
      if (row->granted_by == here_) continue;
      update_meta([&](MetaRow& changed) { changed.guard_steps = is_said_of(row->granted_by) ? 0 : steps; });
      bool room = true;
      try {
        update_tag(*row, [](TagRow&) {});
      } catch (const Error&) {
        room = false;
      }
      if (row->is_removed) continue;
      rows.push_back(
          Row({row->name, number(room ? 1 : 0), room ? optional_number(row->left_out_from) : std::nullopt,
               room ? optional_number(row->left_out_to) : std::nullopt}));
    }
    update_meta([&](MetaRow& row) { row.guard_steps = steps; });
    return rows;
  }

  // Workers.

  Rows layout() {
    return {Row({meta().layout, number(meta().first_worker), optional_number(meta().last_worker),
                 number(is_layout_fixed() ? 1 : 0), meta().deployment.text()})};
  }
  Rows set_layout() {
    if ((text(1) != meta().layout && is_layout_fixed()) ||
        std::max(meta().first_worker, meta().last_worker.value_or(0)) > integer(2))
      return {};
    update_meta([&](MetaRow& row) { row.layout = text(1); });
    return {Row({meta().layout})};
  }
  /// leaf_meta_workers() of 0008_worker_range.sql.
  Rows set_workers() {
    const std::int64_t first = integer(1);
    const std::optional<std::int64_t> last = optional(2), last_before = meta().last_worker;
    const std::int64_t first_before = meta().first_worker;
    const bool is_leased_outside = std::ranges::any_of(tables_.workers, [&](const WorkerRow& row) {
      return (row.id < first || row.id > last.value_or(row.id)) && row.window_end > clock_;
    });
    if (text(3) != meta().layout || (is_file() && is_leased_outside)) return {};
    update_meta([&](MetaRow& row) {
      row.first_worker = first;
      row.last_worker = last;
    });
    if (!is_file() && (first != first_before || last != last_before)) {
      if (is_leased_outside)
        throw Error(ErrorCode::refused, "workers outside of the range are leased", {}, "LF007");
      const bool is_smaller = first > first_before || (last && *last < last_before.value_or(last_integer));
      if (meta().leases_from > clock_ && is_smaller) {
        throw Error(ErrorCode::refused, "the store may lack leases of workers outside of the range", {},
                    "LF007");
      }
      tables_.meta.next_worker = first;
      while (find_worker(meta().next_worker) != nullptr) ++tables_.meta.next_worker;
    }
    if (first < 0 || first > last.value_or(first))
      throw Error(ErrorCode::failed, "these are no workers", {}, "23514");
    return {Row({number(first)})};
  }
  Rows acquire_held() {
    if (!may_lease()) return {};
    return take(best(
        [&](const WorkerRow& row) {
          const bool is_own = row.owner == text(1);
          return (is_over(row) && (!row.owner || is_own)) || (is_own && !row.token);
        },
        [](const WorkerRow& row) { return std::pair(row.owner ? 0 : 1, row.id); }));
  }
  Rows acquire_new() {
    if (is_file()) return acquire_lowest();
    if (meta().next_worker > last_new(integer(6)) || !may_lease()) return {};
    const WorkerRow row = new_worker(meta().next_worker);
    update_meta([](MetaRow& changed) {
      ++changed.next_worker;
      changed.is_layout_fixed = true;
    });
    require_insertable(row);
    if (find_worker(row.id) != nullptr) return {};
    return insert(row);
  }
  Rows has_new() {
    const bool may = !is_file() && meta().next_worker <= last_new(integer(1)) &&
                     knows_leases(std::min(integer(2), clock_));
    return {Row({number(may ? 1 : 0)})};
  }
  Rows acquire_silent() {
    if (!may_lease()) return {};
    return take(
        best([&](const WorkerRow& row) { return is_over(row) && row.renewed_at <= clock_ - integer(12); },
             [](const WorkerRow& row) { return std::pair(row.renewed_at, row.id); }));
  }
  Rows acquire_this() {
    if (!may_lease()) return {};
    if (!meta().is_layout_fixed) update_meta([](MetaRow& row) { row.is_layout_fixed = true; });
    WorkerRow* const row = find_worker(integer(6));
    const WorkerRow proposed = new_worker(integer(6));
    // Triggers look at what would be inserted, whatever there is.
    require_insertable(proposed);
    if (row == nullptr) return insert(proposed);
    const bool may_take = !row->owner || *row->owner == text(1) || row->renewed_at <= clock_ - integer(12);
    const bool is_given_back = row->owner == text(1) && !row->token;
    if (!(is_over(*row) && may_take) && !is_given_back) return {};
    return take(row);
  }
  Rows renew() {
    WorkerRow* const row = held_by_token();
    const std::int64_t wish = integer(3), called_at = integer(5);
    const std::int64_t here_and_there = std::min(called_at, clock_);
    const std::int64_t begin = std::max(wish, here_and_there);
    if (row == nullptr || !(wish > clock_ || knows_leases(here_and_there)) || clock_ < integer(6) ||
        clock_ > integer(7) || row->renewed_at > integer(7) || begin > integer(8))
      return {};
    const std::int64_t offset = called_at - clock_;
    // The latter is leaf_worker_held_before.
    if (!is_file() &&
        (begin < row->held_after || clock_ + std::min<std::int64_t>(offset, 0) < row->held_after))
      return {};
    const std::int64_t end = std::max(row->window_end, begin + integer(4));
    if (end > row->window_end && !is_in_range(row->id)) return {};  // leaf_worker_in_range
    require_not_for_good(row->window_end, end);
    row->window_end = end;
    row->renewed_at = clock_;
    row->clock_offset = offset;
    return {lease(*row, begin)};
  }
  Rows owner_clocks() {
    std::optional<std::int64_t> renewed, given_up;
    for (const WorkerRow& row : tables_.workers) {
      if (row.owner != text(1)) continue;
      renewed = std::max(renewed.value_or(row.renewed_at), row.renewed_at);
      if (!row.token) given_up = std::max(given_up.value_or(row.window_end), row.window_end);
    }
    return {Row({number(clock_), optional_number(renewed), optional_number(given_up)})};
  }
  Rows lease_clocks() {
    const WorkerRow* const row = held_by_token();
    if (row == nullptr) return {};
    // leaf_worker_held_before.
    const bool is_early = !is_file() && std::min(clock_, integer(3)) < row->held_after;
    const auto renewable_from = is_early ? std::optional(row->held_after) : std::nullopt;
    return {Row({number(clock_), number(row->renewed_at), std::nullopt, optional_number(renewable_from)})};
  }
  Rows give_up() {
    WorkerRow* const row = held_by_token();
    if (row == nullptr) return {};
    row->window_end = std::max(row->held_after, std::min(row->window_end, integer(3)));
    row->token.reset();
    if (integer(4) == 1) row->owner.reset();
    return {Row({number(row->id)})};
  }
  Rows give_up_others() {
    Rows rows;
    for (WorkerRow& row : tables_.workers) {
      if (row.owner != text(1) || row.token != Uuid::parse(text(2)) || row.id == integer(3)) continue;
      row.window_end = std::max(row.held_after, row.window_end - integer(4));
      row.token.reset();
      rows.push_back(Row({number(row.id)}));
    }
    return rows;
  }
  Rows workers() {
    std::ranges::sort(tables_.workers, {}, &WorkerRow::id);
    Rows rows;
    for (const WorkerRow& row : tables_.workers) {
      rows.push_back(Row({number(row.id), row.owner, number(row.token ? 1 : 0), number(row.window_end),
                          number(row.renewed_at), number(row.clock_offset), number(clock_ - row.renewed_at),
                          number(is_in_range(row.id) ? 1 : 0)}));
    }
    return rows;
  }
  Rows recycle() {
    return free_those([&](const WorkerRow& row) {
      return row.id == integer(1) && (integer(3) == 1 || row.window_end <= std::min(integer(2), clock_));
    });
  }
  Rows release() {
    return free_those([&](const WorkerRow& row) {
      return row.owner == text(1) && (!optional(2) || row.id == *optional(2));
    });
  }
  Rows recycle_silent() {
    return free_those([&](const WorkerRow& row) {
      return row.window_end <= std::min(integer(1), clock_) && row.renewed_at <= clock_ - integer(2);
    });
  }

  /// leaf_worker_put_back() of 0004_identity.sql.
  void put_back(const WorkerRow& row) {
    update_meta([](MetaRow& changed) { changed.worker_table = 0; });
    tables_.workers.push_back(row);
  }

 private:
  bool is_file() const { return model_.database == Database::sqlite; }
  std::optional<std::string> granter(const std::optional<ServerName>& name) const {
    return is_file() || !name ? std::nullopt : std::optional(name->text());
  }
  static std::string number(std::int64_t value) { return std::to_string(value); }
  static std::optional<std::string> optional_number(std::optional<std::int64_t> value) {
    return value ? std::optional(number(*value)) : std::nullopt;
  }
  static std::string server_text(const std::optional<ServerName>& name) {
    return name ? name->text() : std::string();
  }
  const Value& parameter(std::size_t n) const { return parameters_[n - 1]; }
  std::int64_t integer(std::size_t n) const { return std::get<std::int64_t>(parameter(n)); }
  const std::string& text(std::size_t n) const { return std::get<std::string>(parameter(n)); }
  std::optional<std::int64_t> optional(std::size_t n) const {
    const auto* const value = std::get_if<std::int64_t>(&parameter(n));
    return value == nullptr ? std::nullopt : std::optional(*value);
  }

  const MetaRow& meta() const { return tables_.meta; }

  // Tags.

  TagRow* find(const std::string& name) {
    const auto found = std::ranges::find(tables_.tags, name, &TagRow::name);
    return found == tables_.tags.end() ? nullptr : &*found;
  }
  TagRow* tag() {
    TagRow* const row = find(text(1));
    return row == nullptr || row->is_removed ? nullptr : row;
  }
  std::vector<TagRow*> tags_by_name() {
    std::vector<TagRow*> rows;
    for (TagRow& row : tables_.tags) rows.push_back(&row);
    std::ranges::sort(rows, {}, [](const TagRow* row) { return row->name; });
    return rows;
  }
  /// ABOVE_FLOOR: the guard of another server counts first, and is seen afterwards.
  bool is_above_floor(const TagRow& row) const {
    return row.max_id >= integer(3) || (!is_file() && row.granted_by != here_);
  }

  /// DURABILITY: a server fails at once, but for what is seen in the row alone.
  std::optional<std::string> durability() const {
    constexpr std::int64_t lasts = 1;
    constexpr std::int64_t without_triggers = 3;
    if (!is_file() && model_.durability != lasts && model_.durability != without_triggers)
      throw Error(ErrorCode::refused, "commits may be lost", {}, "LF002");
    return number(model_.durability);
  }

  Rows grant(TagRow& row, std::int64_t count) {
    update_tag(row, [&](TagRow& changed) {
      changed.max_id += count;
      changed.last_grant = count;
    });
    return {Row({number(row.max_id - row.last_grant), number(row.max_id), number(row.step),
                 number(row.limit.value_or(no_limit)), row.incarnation.text(), durability(), deployment(),
                 granter(row.granted_by), number(row.start.value_or(1))})};
  }

  /// None for a program that would not understand the rest of the rows.
  std::optional<std::string> deployment() const {
    return model_.asks_for_later_release ? std::nullopt : std::optional(meta().deployment.text());
  }

  /// leaf_alloc_guard() of 0010_grants.sql.
  template <typename Change>
  void update_tag(TagRow& row, Change change) {
    TagRow changed = row;
    change(changed);
    if (!is_file() && row.granted_by != here_) leave_out(row, changed);
    row = std::move(changed);
  }
  void leave_out(const TagRow& before, TagRow& changed) {
    const std::int64_t highest = changed.is_removed ? no_limit : changed.limit.value_or(no_limit);
    const Wide room = std::max<Wide>(Wide{highest} + 1 - changed.max_id, 0);
    Wide guard = Wide{meta().guard_steps} * std::max({changed.step, before.step, changed.last_grant,
                                                      before.last_grant, std::int64_t{1}});
    const Wide share = guard > 0 ? std::max<Wide>(8 * guard, 1048576) : 0;
    const std::int64_t servers = here_.servers_since(before.granted_by);
    guard = servers * guard + (servers - 1) * share;
    if (!changed.is_removed && guard > room) {
      throw Error(ErrorCode::refused,
                  "the tag was last granted by another server, and the guard goes past its limit", {},
                  "LF001");
    }
    const Wide most_drawn = std::min(share, room / 8);
    const auto left_out_with = [&](Wide drawn) {
      return static_cast<std::int64_t>(std::min(guard + drawn, room));
    };
    const std::int64_t left_out =
        model_.left_out ? model_.left_out(before, left_out_with(0), left_out_with(most_drawn))
                        : left_out_with(static_cast<Wide>(random_.next() >> 4) % (most_drawn + 1));
    changed.left_out_from = before.max_id;
    changed.left_out_to = before.max_id + left_out;
    changed.max_id += left_out;
    changed.granted_by = here_;
  }

  static Columns tag_columns(const TagRow& row) {
    // Nothing that is simulated looks at times of tags.
    return {row.name,
            number(row.max_id),
            number(row.step),
            optional_number(row.start),
            optional_number(row.limit),
            std::nullopt,
            number(0),
            row.incarnation.text(),
            std::nullopt};
  }
  static Row tag_row(const TagRow& row) { return Row(tag_columns(row)); }
  static Row tag_or_tombstone(const TagRow& row) {
    Columns columns = tag_columns(row);
    columns.push_back(number(row.is_removed ? 1 : 0));
    return Row(std::move(columns));
  }

  /// The only server that rows name which is one step away; on a first timeline of other systems the one
  /// furthest on.
  std::optional<ServerName> server_before() const {
    std::vector<ServerName> others;
    const auto add = [&](const std::optional<ServerName>& name) {
      if (name && name != here_ && std::ranges::find(others, *name) == others.end()) others.push_back(*name);
    };
    add(meta().granted_before);
    for (const TagRow& row : tables_.tags) add(row.granted_by);
    const auto is_own = [&](const ServerName& name) { return name.system == here_.system; };
    const auto keep = [&](auto&& is_kept) { std::erase_if(others, std::not_fn(is_kept)); };
    if (std::ranges::any_of(others, is_own)) {
      keep([&](const ServerName& name) {
        return is_own(name) && here_.timeline - name.timeline + (name.tables != here_.tables ? 1 : 0) == 1;
      });
    } else if (here_.timeline > 1) {
      return {};
    } else if (!others.empty()) {
      const ServerName newest = *std::ranges::max_element(others, {}, &ServerName::timeline);
      if (std::ranges::any_of(others, [&](const ServerName& name) { return name.system != newest.system; }))
        return {};
      keep([&](const ServerName& name) { return name.timeline == newest.timeline; });
    }
    return others.size() == 1 ? std::optional(others.front()) : std::nullopt;
  }

  // Workers.

  /// leaf_worker_table(): none where the rows of workers were lost.
  std::optional<std::int64_t> worker_table() const {
    return !meta().is_layout_fixed || !tables_.workers.empty() ? std::optional(here_.tables) : std::nullopt;
  }
  bool is_same_lessor() const {
    return is_file() || (meta().granted_by == here_ && meta().worker_table == worker_table());
  }
  bool is_layout_fixed() const { return is_file() ? !tables_.workers.empty() : meta().is_layout_fixed; }
  bool is_in_range(std::int64_t id) const {
    return id >= meta().first_worker && id <= meta().last_worker.value_or(id);
  }
  std::int64_t last_new(std::int64_t greatest) const {
    return std::min(greatest, meta().last_worker.value_or(greatest));
  }
  bool knows_leases(std::int64_t at) const { return is_same_lessor() && meta().leases_from <= at; }

  /// leaf_meta_guard() of 0009_leases.sql.
  template <typename Change>
  void update_meta(Change change) {
    MetaRow changed = meta();
    change(changed);
    if (!is_same_lessor()) {
      const bool is_first_after_loss = !meta().worker_table && meta().granted_by == here_;
      changed.granted_by = here_;
      changed.worker_table = worker_table();
      if (!is_first_after_loss) {
        std::int64_t longest = 0, newest = clock_;
        for (const WorkerRow& row : tables_.workers) {
          longest = std::max(longest, row.window_end - row.renewed_at);
          newest = std::max(newest, row.renewed_at);
        }
        changed.granted_before.reset();
        if (meta().worker_table == changed.worker_table ||
            (meta().granted_by && meta().granted_by->tables != here_.tables))
          changed.granted_before = meta().granted_by;
        changed.leases_before = meta().leases_from;
        changed.leases_from =
            std::max(meta().leases_from,
                     newest + std::max<std::int64_t>(1'200'000, std::min((3 * longest + 1) / 2, 2 * day_ms)));
      }
    }
    tables_.meta = std::move(changed);
  }

  WorkerRow* find_worker(std::int64_t id) {
    const auto found = std::ranges::find(tables_.workers, id, &WorkerRow::id);
    return found == tables_.workers.end() ? nullptr : &*found;
  }
  WorkerRow* held_by_token() {
    WorkerRow* const row = find_worker(integer(1));
    return row == nullptr || row->token != Uuid::parse(text(2)) ? nullptr : row;
  }

  /// NOW: the earlier one of the store's clock and the caller's.
  std::int64_t now() const { return std::min(integer(5), clock_); }
  std::int64_t begin_after(std::int64_t end) const {
    std::int64_t begin = std::max({end, now(), integer(4)});
    for (const WorkerRow& row : tables_.workers) {
      if (row.owner == text(1) && !row.token) begin = std::max(begin, row.window_end);
    }
    return begin;
  }
  bool may_lease() const {
    const std::int64_t begin = begin_after(0);
    return knows_leases(now()) && clock_ >= integer(7) && clock_ <= integer(8) && begin >= integer(10) &&
           begin <= integer(11) && std::ranges::none_of(tables_.workers, [&](const WorkerRow& row) {
             return row.owner == text(1) &&
                    (row.renewed_at > integer(8) || (!row.token && row.window_end > integer(9)));
           });
  }
  bool is_over(const WorkerRow& row) const { return row.window_end <= now(); }
  template <typename Fits, typename Order>
  WorkerRow* best(Fits fits, Order order) {
    WorkerRow* chosen = nullptr;
    for (WorkerRow& row : tables_.workers) {
      if (row.id > integer(6) || !is_in_range(row.id) || !fits(row)) continue;
      if (chosen == nullptr || order(row) < order(*chosen)) chosen = &row;
    }
    return chosen;
  }
  WorkerRow new_worker(std::int64_t id) const {
    return {.id = id,
            .owner = text(1),
            .token = Uuid::parse(text(2)),
            .window_end = begin_after(0) + integer(3),
            .held_after = 0,
            .renewed_at = clock_ + model_.set_back_by,
            .clock_offset = integer(5) - clock_};
  }
  /// The first one that was never taken.
  Rows acquire_lowest() {
    std::int64_t id = meta().first_worker;
    while (find_worker(id) != nullptr) ++id;
    if (id > last_new(integer(6)) || !may_lease()) return {};
    return insert(new_worker(id));
  }
  void require_insertable(const WorkerRow& row) const {
    if (!is_in_range(row.id))
      throw Error(ErrorCode::refused, "this worker is not one of those that the store leases", {}, "LF007");
    require_not_for_good(0, row.window_end);
    if (!is_file() && row.renewed_at > clock_ + minute_ms) throw for_good();
  }
  Rows insert(const WorkerRow& row) {
    require_insertable(row);
    tables_.workers.push_back(row);
    return {lease(row, row.window_end - integer(3))};
  }
  Rows take(WorkerRow* row) {
    if (row == nullptr) return {};
    const std::int64_t end = begin_after(row->window_end) + integer(3);
    require_not_for_good(row->window_end, end);
    *row = {.id = row->id,
            .owner = text(1),
            .token = Uuid::parse(text(2)),
            .window_end = end,
            .held_after = row->window_end,
            .renewed_at = clock_,
            .clock_offset = integer(5) - clock_};
    return {lease(*row, row->window_end - integer(3))};
  }
  /// leaf_worker_not_for_good and leaf_worker_not_kept_for_good.
  void require_not_for_good(std::int64_t before, std::int64_t end) const {
    if (is_file() || end <= before || end <= clock_ + 3 * day_ms) return;
    throw for_good();
  }
  static Error for_good() {
    return {ErrorCode::failed, "a worker may not be taken for longer than three days", {}, "23514"};
  }
  Row lease(const WorkerRow& row, std::int64_t begin) const {
    return Row({number(row.id), number(begin), number(row.window_end), durability(), deployment(),
                granter(here_), meta().layout});
  }
  template <typename Fits>
  Rows free_those(Fits fits) {
    Rows rows;
    for (WorkerRow& row : tables_.workers) {
      if (!row.owner || !fits(row)) continue;
      row.owner.reset();
      row.token.reset();
      rows.push_back(Row({number(row.id)}));
    }
    return rows;
  }

  StoreModel& model_;
  Tables& tables_;
  const ServerName& here_;
  const StoreModel::Parameters parameters_;
  const std::int64_t clock_;
  Random& random_;
};

struct Known {
  const char* store::Sql::*name;
  Rows (Statement::*run)();
  bool changes_rows;
};

constexpr std::array known{
    Known{&store::Sql::grant_segment, &Statement::grant_segment, true},
    Known{&store::Sql::grant_exactly, &Statement::grant_exactly, true},
    Known{&store::Sql::schema, &Statement::schema, false},
    Known{&store::Sql::identity, &Statement::identity, false},
    Known{&store::Sql::layout, &Statement::layout, false},
    Known{&store::Sql::set_layout, &Statement::set_layout, true},
    Known{&store::Sql::set_workers, &Statement::set_workers, true},
    Known{&store::Sql::renew, &Statement::renew, true},
    Known{&store::Sql::leases_from, &Statement::leases_from, true},
    Known{&store::Sql::acquire_held, &Statement::acquire_held, true},
    Known{&store::Sql::acquire_new, &Statement::acquire_new, true},
    Known{&store::Sql::acquire_silent, &Statement::acquire_silent, true},
    Known{&store::Sql::acquire_this, &Statement::acquire_this, true},
    Known{&store::Sql::has_new, &Statement::has_new, false},
    Known{&store::Sql::owner_clocks, &Statement::owner_clocks, false},
    Known{&store::Sql::lease_clocks, &Statement::lease_clocks, false},
    Known{&store::Sql::give_up, &Statement::give_up, true},
    Known{&store::Sql::give_up_others, &Statement::give_up_others, true},
    Known{&store::Sql::workers, &Statement::workers, false},
    Known{&store::Sql::recycle, &Statement::recycle, true},
    Known{&store::Sql::release, &Statement::release, true},
    Known{&store::Sql::recycle_silent, &Statement::recycle_silent, true},
    Known{&store::Sql::tag, &Statement::one_tag, false},
    Known{&store::Sql::tags, &Statement::tags, false},
    Known{&store::Sql::all_tags, &Statement::all_tags, false},
    Known{&store::Sql::add_tag, &Statement::add_tag, true},
    Known{&store::Sql::update_tag, &Statement::change_tag, true},
    Known{&store::Sql::remove_tag, &Statement::remove_tag, true},
    Known{&store::Sql::clock, &Statement::clock, false},
    Known{&store::Sql::guard_steps, &Statement::guard_steps, false},
    Known{&store::Sql::set_guard_steps, &Statement::set_guard_steps, true},
    Known{&store::Sql::failover, &Statement::failover, false},
    Known{&store::Sql::failover_tags, &Statement::failover_tags, false},
    Known{&store::Sql::settle_failover, &Statement::settle_failover, true},
    Known{&store::Sql::begin_deployment, &Statement::begin_deployment, true},
    Known{&store::Sql::note_deployment, &Statement::nothing, false},
    Known{&store::Sql::confirm, &Statement::nothing, false},
    Known{&store::Sql::events, &Statement::nothing, false},
    Known{&store::Sql::similar_tags, &Statement::nothing, false},
};

const Known& found_by(const char* statement) {
  for (const Known& one : known) {
    if (StoreModel::sql().*one.name == statement) return one;
  }
  throw Error(ErrorCode::failed, fmt::format("the model does not know the statement '{}'", statement));
}

}  // namespace

Uuid Uuid::parse(const std::string& text) {
  if (!store::is_uuid(text))
    throw Error(ErrorCode::failed, fmt::format("invalid input syntax for type uuid: \"{}\"", text), {},
                "22P02");
  Uuid uuid;
  int digits = 0;
  for (const char c : text) {
    if (c == '-') continue;
    const auto value = static_cast<std::uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
    std::uint64_t& half = digits++ < 16 ? uuid.high : uuid.low;
    half = half << 4 | value;
  }
  return uuid;
}

std::string Uuid::text() const {
  std::string text;
  for (int digit = 0; digit < 32; ++digit) {
    if (digit == 8 || digit == 12 || digit == 16 || digit == 20) text += '-';
    const std::uint64_t half = digit < 16 ? high : low;
    text += "0123456789abcdef"[half >> (60 - digit % 16 * 4) & 15];
  }
  return text;
}

std::int64_t ServerName::servers_since(const std::optional<ServerName>& before) const {
  if (!before) return 1;
  if (before->system != system) return std::min<std::int64_t>(timeline, 2);
  return std::max<std::int64_t>(timeline - before->timeline + (before->tables != tables ? 1 : 0), 1);
}

std::string ServerName::text() const {
  return std::to_string(system) + "/" + std::to_string(timeline) + "/1." + std::to_string(tables) + ".1";
}

const store::Sql& StoreModel::sql() noexcept {
  static const store::Sql names = [] {
    store::Sql sql{};
    sql.begin_migration = "BEGIN";
    // Told apart by where they lie.
    static std::array<char, known.size()> texts{};
    for (std::size_t i = 0; i < known.size(); ++i) sql.*known[i].name = &texts[i];
    return sql;
  }();
  return names;
}

bool StoreModel::changes_rows(const char* statement) noexcept {
  return found_by(statement).changes_rows;
}

Rows StoreModel::run(const char* statement, Parameters parameters, std::int64_t clock_ms, Random& random) {
  const Known& one = found_by(statement);
  Statement running(*this, parameters, clock_ms, random);
  if (!one.changes_rows) return (running.*one.run)();
  const Tables before = tables;
  try {
    return (running.*one.run)();
  } catch (const Error&) {
    tables = before;
    throw;
  }
}

void StoreModel::put_back(const WorkerRow& row, std::int64_t clock_ms) {
  Random none(0);
  Statement(*this, {}, clock_ms, none).put_back(row);
}

}  // namespace leaf::simulation
