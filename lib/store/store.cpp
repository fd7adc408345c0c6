#include "leaf/store.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "store/fork_generation.hpp"
#include "store/libpq_variables.hpp"
#include "store/store_impl.hpp"
#include "text/hint.hpp"

namespace leaf {

using std::chrono::milliseconds;
using store::Connection;

/// An open connection stays where the store's name led when it was made, and on the search_path of then. What
/// it tells may be believed for range::name_lasts on top: a minute in all.
constexpr std::chrono::seconds connection_lasts{30};

Store::Impl::Impl(const StoreOptions& options)
    : url_(store::parse_url(store::absolute_url(options.url))),
      variables_(options.variables ? *options.variables : store::libpq_variables()),
      program_(options.program.empty() ? program_invocation_short_name : options.program),
      clock_(*options.clock),
      marks_(options.marks ? options.marks : marks_in_memory()),
      while_asked_(options.while_asked) {
  set_timeout(options.timeout, {});
}

void Store::Impl::set_timeout(milliseconds timeout,
                              std::optional<std::chrono::steady_clock::time_point> latest) {
  if (timeout < milliseconds::zero()) throw Error(ErrorCode::usage, "the store's timeout is below zero");
  timeout_ = timeout;
  latest_ = latest;
}

std::vector<store::Row> Store::Impl::execute(const char* store::Sql::*statement,
                                             const std::vector<store::Value>& parameters) {
  return attempt(store::IfMissing::fail, true, [&](Connection& connection, store::TimeLeft left) {
    const char* const text = connection.sql().*statement;
    return text == nullptr ? std::vector<store::Row>() : connection.execute(text, parameters, left);
  });
}

void Store::Impl::connect(store::IfMissing if_missing, bool check_schema, const store::Attempts& attempts) {
  if (!connection_) {
    connect_anew(if_missing, attempts.time_left());
  } else if (clock_.steady_now() >= connected_until_) {
    const milliseconds patience = attempts.time_left() / 2;
    const auto begun = clock_.steady_now();
    try {
      connect_anew(if_missing, patience);
    } catch (const Error&) {
      // The one that is open may still do, and else tells why not. The next try is soon, if this one was
      // short.
      const auto now = clock_.steady_now();
      connected_until_ = now + std::clamp<std::chrono::nanoseconds>(
                                   10 * (now - begun), std::chrono::seconds(1), connection_lasts);
    }
  }
  if (check_schema && !schema_checked_) {
    const store::Schema schema = store::read_schema(*connection_, attempts.time_left());
    store::require_current(schema, driver().migrations());
    deployment_ = schema.deployment;
    schema_checked_ = true;
  }
}

void Store::Impl::connect_anew(store::IfMissing if_missing, milliseconds timeout) {
  // libpq would read them again.
  if (url_.driver == "postgresql") store::require_same_variables(url_.target, variables_);
  auto connection = driver().connect(url_.target, program_, if_missing, timeout);
  disconnect();
  connection_ = std::move(connection);
  answered_.reset();
  connected_in_ = store::fork_generation();
  connected_until_ = clock_.steady_now() + connection_lasts;
  schema_checked_ = false;
}

void Store::Impl::blame_tables(const Error& error, const store::Attempts& attempts) {
  std::vector<TableFault> faults;
  try {
    faults = store::find_table_faults(*connection_, attempts.time_left());
  } catch (const Error&) {
    // What there is to tell is `error`.
  }
  if (!faults.empty()) throw Error(ErrorCode::refused, error.what(), how_to_undo(faults), error.sqlstate());
}

void Store::Impl::require_connected_to(const std::string& deployment) {
  if (deployment == deployment_) return;
  connection_.reset();
  throw Error(ErrorCode::unavailable, "the store's name now leads to another deployment", "try again"_hint,
              store::sqlstate::connection_lost);
}

bool Store::Impl::has_time_for(milliseconds pause) const {
  constexpr milliseconds to_ask{50};
  return latest_ && pause < std::chrono::floor<milliseconds>(*latest_ - clock_.steady_now()) - to_ask;
}

bool Store::Impl::claim(StoreIdentity store, const std::string& subject, Range granted, MarkHolder holder) {
  store.copy += run_;
  return marks_->claim(store, subject, granted, holder);
}

bool Store::Impl::may_lead_to(const StoreIdentity& store) const {
  return answered_ ? store == *answered_ : schema_checked_ && store.deployment == deployment_;
}

void Store::Impl::connect_by(std::uint64_t files, const std::optional<StoreIdentity>& leads_to) {
  if (std::exchange(connected_by_, files) == files && (!leads_to || may_lead_to(*leads_to))) return;
  disconnect();
}

void Store::Impl::disconnect() noexcept {
  // To end it would end the parent's session.
  if (connected_in_ != store::fork_generation()) static_cast<void>(connection_.release());
  connection_.reset();
}

Store::Impl::~Impl() {
  disconnect();
}

Store::Store(const StoreOptions& options) : impl_(std::make_unique<Impl>(options)) {}
Store::~Store() = default;
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;

void Store::set_timeout(milliseconds timeout, std::optional<std::chrono::steady_clock::time_point> latest) {
  impl_->set_timeout(timeout, latest);
}

std::vector<Migration> Store::pending_migrations() {
  return impl_->attempt(store::IfMissing::assume_empty, false,
                        [&](Connection& connection, store::TimeLeft left) {
                          auto pending = store::wanted(connection, store::read_schema(connection, left),
                                                       impl_->driver().migrations(), left);
                          for (Migration& migration : pending)
                            migration.sql = connection.placed(migration.sql);
                          return pending;
                        });
}

std::string Store::migration_script(const std::vector<ForeignObject>& adopted) {
  return impl_->attempt(
      store::IfMissing::assume_empty, false, [&](Connection& connection, store::TimeLeft left) {
        const auto schema = store::read_schema(connection, left);
        return store::script(connection,
                             store::wanted(connection, schema, impl_->driver().migrations(), left), adopted);
      });
}

void Store::load_driver() {
  static_cast<void>(impl_->driver());
}

void Store::connect_by(std::uint64_t files, const std::optional<StoreIdentity>& leads_to) {
  impl_->connect_by(files, leads_to);
}

StoreIdentity Store::identity() {
  return impl_->attempt(store::IfMissing::fail, true, [this](Connection& connection, store::TimeLeft left) {
    const auto rows = connection.execute(connection.sql().identity, {}, left);
    if (rows.empty()) throw store::lost_meta_row();
    StoreIdentity identity = store::identity_of(rows[0], 0, connection);
    impl_->note_answer(identity);
    return identity;
  });
}

}  // namespace leaf
