#include "store/postgresql/meaning.hpp"

#include "store/connection.hpp"
#include "text/advice.hpp"

namespace leaf::store::postgresql {

namespace {

/// What helps where one of the store's own functions has refused. They name the commands of leafctl, for
/// those who change the tables by hand; empty where what they say holds for any program.
Advice refusal_advice(std::string_view state) {
  if (state == "LF001") {  // leaf_alloc_guard()
    return advice(
        "raise its limit, or go on with another tag if it has none; or, if no commit was lost and no backup "
        "restored, say so{}"_hint,
        Remedy{Remedy::Kind::settle_failover});
  }
  if (state == "LF003") {  // leaf_require_whole()
    return advice(
        "find out the highest ID of the tag that any host has drawn or buffered, and add it to go on "
        "from a higher one{}"_hint,
        Remedy{Remedy::Kind::add_tag});
  }
  if (state == "LF004") {  // refuse_foreign_objects
    return advice("do this as the role that owns them; or take them over{}, which drops what would run"_hint,
                  Remedy{Remedy::Kind::adopt_objects});
  }
  if (state == "LF006")  // leaf_settle()
    return advice("look again{} before you decide"_hint, Remedy{Remedy::Kind::look_at_failover});
  if (state == "LF007") {  // leaf_worker_in_range(), leaf_meta_workers()
    return advice("see which workers are leased{}, and choose which ones the store leases{}"_hint,
                  Remedy{Remedy::Kind::list_workers}, Remedy{Remedy::Kind::choose_worker_range});
  }
  return {};
}

}  // namespace

Meaning meaning_of(std::string_view state) {
  if (state == sqlstate::read_only) return {ErrorCode::unavailable, read_only_hint};
  // What names the server cannot be asked of a standby.
  if (state == "55000") return {ErrorCode::unavailable, read_only_hint};
  if (state == sqlstate::timed_out || state == sqlstate::idle_too_long)
    return {
        ErrorCode::unavailable,
        "a timeout of the server or an administrator ended it; try again, and raise that timeout for this "
        "role and database if it goes on"_hint};
  if (state == "55P03")
    return {ErrorCode::unavailable,
            advice("try again; see who holds a lock{}"_hint, Remedy{Remedy::Kind::check_store})};
  if (state == "40001" || state == "40P01")
    return {ErrorCode::unavailable, "other transactions are in the way; try again"_hint};
  if (state == wrong_password) return {ErrorCode::usage, "check the user and the password (PGPASSFILE)"_hint};
  if (state == not_let_in)
    return {ErrorCode::usage, "check the user (user=NAME), and whom the server's pg_hba.conf lets in"_hint};
  if (state.starts_with("LF")) return {ErrorCode::refused, refusal_advice(state)};
  if (state == "42501") {
    return {ErrorCode::usage, advice("log in as the owner, who can let others draw IDs{}"_hint,
                                     Remedy{Remedy::Kind::grant_role})};
  }
  // The schema's version was looked at before.
  if (state == sqlstate::missing_table || state == sqlstate::missing_schema || state == "42703") {
    return {ErrorCode::refused,
            "find out who moved, dropped or replaced it, and put it back, from a "
            "backup if need be; a new store would repeat IDs"_hint};
  }
  if (state == "42883") {
    return {
        ErrorCode::refused,
        advice("find out who moved or dropped it: what was moved has to go back, and what is gone is made "
               "anew{}"_hint,
               Remedy{Remedy::Kind::upgrade_store})};
  }
  if (state == "23505")  // a key is made anew over rows that came twice, as from a dump
    return {ErrorCode::refused, "remove the rows that have granted less, then try again"_hint};
  if (state == "23502" || state == "42P10") {  // as of a table that was put back alone
    return {ErrorCode::refused,
            advice("see what the table lacks{}, and put it back{}; or undo what was added to the table"_hint,
                   Remedy{Remedy::Kind::check_store}, Remedy{Remedy::Kind::upgrade_store})};
  }
  if (state.starts_with("23")) {
    return {ErrorCode::refused,
            "find out who has changed constraints or defaults of the table, and undo that"_hint};
  }
  if (state == sqlstate::too_many_connections) {
    return {
        ErrorCode::unavailable,
        "let other sessions end; or raise max_connections, or the CONNECTION LIMIT of the role or database "
        "that is named"_hint};
  }
  if (state == "53100") return {ErrorCode::unavailable, "free some space on the server's disk"_hint};
  if (state == "58P01") {
    return {
        ErrorCode::unavailable,
        "look at the server: the disk of a tablespace may not be mounted, or a library not be installed"_hint};
  }
  if (state == "54000")  // no transaction is begun before old ones are vacuumed away
    return {ErrorCode::unavailable,
            advice("see which database must be vacuumed{}"_hint, Remedy{Remedy::Kind::check_store})};
  if (state == "22P05")  // what no other encoding takes apart from UTF-8 is a description
    return {ErrorCode::usage, "leave out what the database's encoding cannot write"_hint};
  const std::string_view group = state.substr(0, 2);
  if (group == "08" || group == "53" || group == "57" || group == "58") return {ErrorCode::unavailable, ""};
  return {ErrorCode::failed, ""};
}

bool is_pooler_without_server(std::string_view text) {
  return text.find("server login has been failing") != std::string_view::npos;
}

}  // namespace leaf::store::postgresql
