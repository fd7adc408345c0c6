#include "store/functions.hpp"

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>

#include "layout/layout_text.hpp"
#include "leaf/error.hpp"
#include "leaf/layout.hpp"
#include "store/dollar_quotes.hpp"
#include "store/migrations.hpp"
#include "store/store_impl.hpp"
#include "text/hint.hpp"

namespace leaf {

namespace {

using std::chrono::milliseconds;
using store::Connection;

/// Goes up where the functions come to do something else.
constexpr int functions_version = 3;
/// IDs of one call: a mistake in the number fills no disk.
constexpr std::int64_t most_at_once = std::int64_t{1} << 24;
constexpr std::string_view names =
    "{leaf_not_an_id,leaf_not_a_time,leaf_no_bounds,leaf_time,leaf_worker,leaf_sequence,leaf_units,leaf_id_"
    "at,"
    "leaf_bounds,leaf_grant_ids,leaf_next}";

/// What stands for @NAME@ in the functions.
using Places = std::map<std::string, std::string, std::less<>>;

/// In one pass, so that nothing that is put in is looked at again.
std::string filled(std::string_view form, const Places& places) {
  std::string text;
  for (auto at = form.find('@'); at != std::string_view::npos; at = form.find('@')) {
    const auto end = form.find('@', at + 1);
    const auto found =
        end == std::string_view::npos ? places.end() : places.find(form.substr(at + 1, end - at - 1));
    text += form.substr(0, at);
    if (found == places.end()) {
      text += '@';
      form.remove_prefix(at + 1);
      continue;
    }
    text += found->second;
    form.remove_prefix(end + 1);
  }
  return text.append(form);
}

/// A text in SQL, also for a session that reads backslashes.
std::string literal(std::string_view text) {
  std::string result = text.find('\\') == text.npos ? "'" : "E'";
  for (const char c : text) result.append(c == '\'' || c == '\\' ? 2 : 1, c);
  return result + '\'';
}

/// As PostgreSQL reads it whatever its settings are; also after the year 9999.
std::string timestamp(UnixTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{:03}+00", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

std::string operation(const std::string& left, std::string_view sign, const std::string& right) {
  return fmt::format("{} OPERATOR(pg_catalog.{}) {}", left, sign, right);
}

std::string number(std::int64_t value) {
  return fmt::format("{}::bigint", value);
}

/// The value of a field in the ID $1.
std::string value_of(const LayoutField& field) {
  return fmt::format("({})",
                     operation(fmt::format("({})", operation("$1", ">>", std::to_string(field.shift()))), "&",
                               number(field.max())));
}

std::string worker_in(const Layout& layout) {
  std::string text;
  for (const LayoutField& field : layout.fields()) {
    if (field.role() != LayoutField::Role::worker) continue;
    text =
        text.empty()
            ? value_of(field)
            : fmt::format("({})",
                          operation(fmt::format("({})", operation(text, "<<", std::to_string(field.bits()))),
                                    "|", value_of(field)));
  }
  return text.empty() ? number(0) : text;
}

/// Whether $1 is an ID of the layout.
std::string is_held(const Layout& layout) {
  const LayoutField& time = *layout.field("time");
  int bits = 0;
  for (const LayoutField& field : layout.fields()) bits += field.bits();
  const std::int64_t greatest = layout.ordered_by_time()
                                    ? layout.last_id(layout.last_time())
                                    : static_cast<std::int64_t>((std::uint64_t{1} << bits) - 1);
  std::string text = operation("$1", ">=", number(0)) + " AND " + operation("$1", "<=", number(greatest));
  if (!layout.ordered_by_time() && layout.max_ticks() < time.max())
    text += " AND " + operation(value_of(time), "<=", number(layout.max_ticks()));
  return text;
}

Places places_of(const Layout& layout) {
  constexpr std::int64_t us_per_ms = 1000;
  const LayoutField& time = *layout.field("time");
  const LayoutField* const sequence = layout.field("sequence");
  const std::string epoch = timestamp(layout.epoch());
  const std::string end = timestamp(layout.last_time() + layout.unit());
  const std::string is_ordered = layout.ordered_by_time() ? "true" : "false";
  const std::int64_t unit = layout.unit().count() * us_per_ms;
  const auto moment = [](const std::string& text) {
    return fmt::format("'{}'::timestamp with time zone", text);
  };
  return {
      {"layout", layout.text()},
      {"layout_name", layout.name()},
      {"holds", is_held(layout)},
      {"time_ms", fmt::format("({})", operation(operation(value_of(time), "*", number(layout.unit().count())),
                                                "+", number(layout.epoch().time_since_epoch().count())))},
      {"worker", worker_in(layout)},
      {"sequence", sequence != nullptr ? value_of(*sequence) : number(0)},
      {"time_shift", std::to_string(time.shift())},
      {"lower_bits", std::to_string((std::int64_t{1} << time.shift()) - 1)},
      {"unit_us", std::to_string(unit)},
      {"round_up", std::to_string(unit - 1)},
      {"epoch_us", std::to_string(layout.epoch().time_since_epoch().count() * us_per_ms)},
      {"unit", unit_text(layout.unit())},
      {"is_ordered", is_ordered},
      {"in_order", fmt::format("{} AND {} AND {} AND {} AND {}", is_ordered,
                               operation("$1", ">=", moment(epoch)), operation("$1", "<", moment(end)),
                               operation("$1", "<", "$2"), operation("$2", "<=", moment(end)))},
      {"epoch", epoch},
      {"end", end},
      {"first_time", to_rfc3339(layout.epoch())},
      {"last_time", to_rfc3339(layout.last_time())},
      {"last_id", std::to_string(layout.last_id(layout.last_time()))},
  };
}

void require_functions(const store::Sql& sql) {
  if (sql.functions != nullptr) return;
  throw Error(ErrorCode::usage, "a SQLite store cannot hold functions",
              "only a store in PostgreSQL has them"_hint);
}

/// A schema.
struct Home {
  std::string lead;  ///< leads a name
  std::string text;  ///< quoted where it has to be
  std::string name;
};

/// Of the functions; an empty `schema` is that of the tables.
Home home_of(Connection& connection, const std::string& schema, milliseconds timeout) {
  if (schema.empty()) connection.placed("");  // throws where there is none
  const std::string lead = connection.schema();
  const store::Value name = schema.empty() ? lead.substr(0, lead.size() - 1) : schema;
  const store::Value is_quoted = static_cast<std::int64_t>(schema.empty());
  const store::Value parameters[] = {name, is_quoted};
  const auto found = connection.execute(connection.sql().schema_named, parameters, timeout);
  if (found.empty()) {
    throw Error(ErrorCode::usage, fmt::format("schema '{}' does not exist", schema),
                "create it with CREATE SCHEMA, or name another one"_hint);
  }
  return {found[0].text(0) + ".", found[0].text(0), found[0].text(1)};
}

/// The functions without a transaction of their own.
std::string functions_for(const Connection& connection, const Layout& layout, const Home& home, int newest) {
  const std::string store = connection.schema();
  const std::string put_in = store + home.lead;
  Places places = places_of(layout);
  places.insert({{"store", store},
                 {"meta_text", literal(store + "leaf_meta")},
                 {"alloc_text", literal(store + "leaf_alloc")},
                 {"here", home.lead},
                 {"here_text", literal(home.text)},
                 {"unused", store::unused_ending(put_in)},
                 {"names", std::string(names)},
                 {"marker", fmt::format("-- leaf functions {}, schema {}, layout {}", functions_version,
                                        newest, layout.text())},
                 {"schema_version", std::to_string(newest)},
                 {"most", std::to_string(most_at_once)}});
  return filled(store::apart_from(connection.sql().functions, put_in), places);
}

Layout layout_of(Connection& connection, milliseconds timeout) {
  const auto found = connection.execute(connection.sql().layout_text, {}, timeout);
  if (found.empty()) throw store::lost_meta_row();
  return Layout::parse(found[0].text(0));
}

}  // namespace

std::vector<StoreFunctions> store::find_functions(Connection& connection, int newest, milliseconds timeout) {
  using State = StoreFunctions::State;
  std::vector<StoreFunctions> found;
  if (connection.sql().functions_found == nullptr) return found;
  const Value parameters[] = {connection.schema(), std::string(names)};
  for (const Row& row : connection.execute(connection.sql().functions_found, parameters, timeout)) {
    const std::int64_t version = row.integer(1), knows = row.integer(2);
    StoreFunctions functions{.schema = row.text(0),
                             .layout = row.text(3),
                             .may_be_replaced = row.integer(7) == 1,
                             .creators = row.is_null(8) ? "" : row.text(8),
                             .others = row.is_null(9) ? "" : row.text(9),
                             .schema_owner = row.is_null(10) ? "" : row.text(10),
                             .owner = row.text(11)};
    if (functions.layout != row.text(5)) {
      functions.state = State::other_layout;
    } else if (row.integer(12) == 1) {
      functions.state = State::other_schema;
    } else if (row.integer(4) == 0) {
      functions.state = State::other_deployment;
    } else if (knows < row.integer(6)) {
      functions.state = State::refused;
    } else if (version < functions_version || (version == functions_version && knows < newest)) {
      functions.state = State::older;
    }
    functions.layout = Layout::parse(functions.layout).name();
    found.push_back(std::move(functions));
  }
  return found;
}

std::string store::install_functions(Connection& connection, const std::string& schema, int newest,
                                     const Transaction& transaction) {
  require_functions(connection.sql());
  const Home home = home_of(connection, schema, transaction.time_left());
  const Layout layout = layout_of(connection, transaction.time_left());
  connection.run_script(functions_for(connection, layout, home, newest), transaction.time_left());
  return home.name;
}

std::string Store::install_functions(const std::string& schema) {
  return impl_->administer([&](Connection& connection, store::TimeLeft left) {
    require_functions(connection.sql());
    store::require_newest(store::read_schema(connection, left), impl_->driver().migrations());
    store::Transaction transaction(connection, left);
    const std::string home =
        store::install_functions(connection, schema, impl_->driver().migrations().back().number, transaction);
    transaction.commit();
    return home;
  });
}

std::string Store::functions_script(const std::string& schema) {
  return impl_->attempt(
      store::IfMissing::assume_empty, false, [&](Connection& connection, store::TimeLeft left) {
        require_functions(connection.sql());
        const bool is_made = connection.find_tables(left);
        const Layout layout =
            is_made ? layout_of(connection, left) : Layout::parse(known_layouts().front().name);
        const Home home = home_of(connection, schema, left);
        const int newest = impl_->driver().migrations().back().number;
        return fmt::format("{};\n{}\n{}\nCOMMIT;\n", connection.sql().begin_migration,
                           connection.sql().migration_settings,
                           functions_for(connection, layout, home, newest));
      });
}

}  // namespace leaf
