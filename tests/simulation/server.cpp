#include "simulation/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "leaf/error.hpp"
#include "leaf/version.hpp"
#include "simulation/world.hpp"
#include "store/driver.hpp"

namespace leaf::simulation {

Server* Server::the_ = nullptr;

namespace {

using store::Row;
using store::Value;

/// A statement on its way: the server runs it whatever becomes of who sent it.
struct Request {
  const char* statement;
  std::vector<Value> parameters;
  int host;
  int process;
  int store;
  int session;
  bool is_answered = false;
  Server::Reply reply{};
};

Error error_of(const char* what, const char* sqlstate) {
  return {ErrorCode::unavailable, what, "try again", sqlstate};
}

class ModelConnection final : public store::Connection {
 public:
  ModelConnection(int store, int session)
      : store_(store), session_(session), process_(Scheduler::the().process().number) {
    Server::the().note_connection(process_, 1);
  }
  ~ModelConnection() override { Server::the().note_connection(process_, -1); }
  ModelConnection(const ModelConnection&) = delete;
  ModelConnection& operator=(const ModelConnection&) = delete;

  const store::Sql& sql() const noexcept override { return StoreModel::sql(); }
  bool find_tables(std::chrono::milliseconds) override { return true; }

  std::vector<Row> execute(const char* statement, std::span<const Value> parameters,
                           std::chrono::milliseconds timeout) override {
    Scheduler& scheduler = Scheduler::the();
    Server& server = Server::the();
    const NetworkFaults& network = server.network;
    const auto happens = [&](std::int64_t one_in) { return one_in > 0 && server.random().one_in(one_in); };
    const bool is_request_lost = happens(network.lost_request);
    const bool is_reply_lost = happens(network.lost_reply);
    const bool has_warning = happens(network.warning);
    if (happens(network.conflict)) throw error_of("could not serialize access", "40001");

    const Process& process = scheduler.process();
    server.note_question(process.host->number, process.number, statement);
    const auto request =
        std::make_shared<Request>(Request{.statement = statement,
                                          .parameters = {parameters.begin(), parameters.end()},
                                          .host = process.host->number,
                                          .process = process.number,
                                          .store = store_,
                                          .session = session_});
    const Time there = server.latency(), back = server.latency();
    scheduler.at(scheduler.now() + there, [request, back, is_request_lost, is_reply_lost] {
      arrive(request, back, is_request_lost, is_reply_lost);
    });
    const Time deadline = scheduler.now() + Time{timeout.count()} * millisecond;
    while (!request->is_answered && scheduler.now() < deadline) scheduler.wait(request.get(), deadline);
    if (!request->is_answered) {
      usable_ = false;
      throw error_of("the store did not answer", store::sqlstate::timed_out);
    }
    const Server::Reply& reply = request->reply;
    if (reply.sqlstate == store::sqlstate::connection_lost || server.session(store_) != session_) {
      usable_ = false;
      throw error_of("the connection broke", store::sqlstate::connection_lost);
    }
    if (!reply.sqlstate.empty() || reply.code != 0)
      throw Error(static_cast<ErrorCode>(reply.code), reply.error, {}, reply.sqlstate);
    if (has_warning) {
      usable_ = false;
      throw error_of("a warning came with the result", store::sqlstate::warning);
    }
    server.tell_delivery(statement, parameters, reply.rows);
    return reply.rows;
  }

  std::vector<Row> try_out(const char*, std::span<const Value>, std::chrono::milliseconds) override {
    return {};
  }
  std::vector<Row> run_script(const std::string&, std::chrono::milliseconds) override { return {}; }
  bool usable() const noexcept override { return usable_; }

 private:
  static void arrive(const std::shared_ptr<Request>& request, Time back, bool is_request_lost,
                     bool is_reply_lost) {
    Server& asked = Server::the();
    const Time turn = asked.turn_of(request->statement, request->parameters);
    if (turn > Scheduler::the().now())
      return Scheduler::the().at(turn, [=] { arrive(request, back, is_request_lost, is_reply_lost); });
    const bool is_gone =
        is_request_lost || asked.is_down() || asked.session(request->store) != request->session;
    if (!is_gone)
      request->reply =
          asked.run(request->store, request->statement, request->parameters, request->host, request->process);
    if (is_gone || is_reply_lost)
      request->reply = {.sqlstate = store::sqlstate::connection_lost, .error = "the connection broke"};
    Scheduler::the().at(Scheduler::the().now() + back, [request] {
      request->is_answered = true;
      Scheduler::the().wake_all(request.get());
    });
  }

  const int store_;
  const int session_;
  const int process_;
  bool usable_ = true;
};

std::unique_ptr<store::Connection> connect(const std::string&, const std::string&, store::IfMissing,
                                           std::chrono::milliseconds timeout) {
  Scheduler& scheduler = Scheduler::the();
  Server& server = Server::the();
  server.note_question(scheduler.process().host->number, scheduler.process().number, nullptr);
  scheduler.sleep_until(scheduler.now() + std::min(server.latency(), Time{timeout.count()} * millisecond));
  const Time deadline = scheduler.now() + Time{timeout.count()} * millisecond;
  while (server.is_silent()) {
    if (scheduler.now() >= deadline)
      throw error_of("no connection came about", store::sqlstate::unable_to_connect);
    scheduler.sleep_until(std::min(deadline, server.silent_until()));
  }
  if (server.is_down())
    throw error_of("nobody listens",
                   server.is_unreachable ? store::sqlstate::unable_to_connect : store::sqlstate::not_yet);
  const std::int64_t refused = server.network.refused_login;
  if (refused > 0 && server.random().one_in(refused))
    throw error_of("no connection came about", store::sqlstate::unable_to_connect);
  return std::make_unique<ModelConnection>(server.store(), server.session(server.store()));
}

// Not made when first asked for, which would be in one history's memory.
const std::vector<Migration> known_migrations{{.number = StoreModel::schema_version,
                                               .name = "model",
                                               .sql = "",
                                               .minimum_reader = StoreModel::schema_version}};

const std::vector<Migration>& migrations() {
  return known_migrations;
}

const store::Driver model_driver{
    .built_with = LEAF_VERSION, .migrations = &migrations, .connect = &connect, .inspect = nullptr};

}  // namespace

Server::Server(Random& random, Ledger& ledger, Log& log) : random_(random), ledger_(ledger), log_(log) {
  the_ = this;
}
Server::~Server() {
  the_ = nullptr;
}

std::int64_t Server::clock_ms() const {
  return (Scheduler::the().now() + clock_offset) / millisecond;
}

bool Server::is_down() const {
  return Scheduler::the().now() < down_until_;
}

void Server::go_down(Time duration) {
  ++session_;
  ++aside_.session;
  note_disturbance();
  went_down_at_ = Scheduler::the().now();
  down_until_ = Scheduler::the().now() + duration;
  if (duration == 0) silent_until_ = down_until_;
  note_trouble(down_until_);
}

void Server::fall_silent(Time duration) {
  silent_until_ = std::max(silent_until_, Scheduler::the().now() + duration);
  note_trouble(silent_until_);
}

void Server::note_trouble(Time until) {
  constexpr Time until_all_have_asked = 4 * second;
  if (Scheduler::the().now() > trouble_until_ + until_all_have_asked) trouble_since_ = Scheduler::the().now();
  trouble_until_ = std::max(trouble_until_, until);
}

Time Server::grown_pause() const {
  constexpr Time first = 300 * millisecond, longest = 2 * second;
  return std::min(longest, (trouble_until_ - trouble_since_) * 4 / 3 + first);
}

bool Server::is_silent() const {
  return Scheduler::the().now() < silent_until_;
}

void Server::lock_row(const std::string& tag, Time duration) {
  Time& until = locked_until_[tag];
  until = std::max(until, Scheduler::the().now() + duration);
  note_trouble(until);
}

Time Server::turn_of(const char* statement, StoreModel::Parameters parameters) const {
  const store::Sql& sql = StoreModel::sql();
  if (statement != sql.grant_segment && statement != sql.grant_exactly) return silent_until_;
  const auto locked = locked_until_.find(std::get<std::string>(parameters[0]));
  return locked == locked_until_.end() ? silent_until_ : std::max(silent_until_, locked->second);
}

Time Server::calm_since(const std::string& tag) const {
  const auto locked = locked_until_.find(tag);
  return std::max(
      {disturbed_at_, down_until_, silent_until_, locked == locked_until_.end() ? 0 : locked->second});
}

void Server::note_question(int host, int process, const char* statement) {
  asked_at_[host] = Scheduler::the().now();
  if (statement == StoreModel::sql().identity) ++name_questions_[process];
}

int Server::connections_of(int process) const {
  const auto found = connections_.find(process);
  return found == connections_.end() ? 0 : found->second;
}

void Server::tell_delivery(const char* statement, StoreModel::Parameters parameters,
                           const StoreModel::Rows& rows) {
  const store::Sql& sql = StoreModel::sql();
  if (rows.empty() || (statement != sql.grant_segment && statement != sql.grant_exactly)) return;
  const auto name = std::ranges::find(tag_names, std::get<std::string>(parameters[0]));
  ledger_.tag_delivered(static_cast<int>(name - tag_names.begin()), rows[0].integer(0));
  if (on_delivered) on_delivered();
}

void Server::exchange() noexcept {
  std::swap(model, aside_.model);
  std::swap(commits_, aside_.commits);
  std::swap(clock_offset, aside_.clock_offset);
  std::swap(session_, aside_.session);
  store_ = 1 - store_;
}

void Server::note_disturbance() noexcept {
  ++disturbances_;
  disturbed_at_ = Scheduler::the().now();
}

void Server::repoint(bool breaks_connections) {
  if (breaks_connections) ++session_;
  exchange();
  turned_at_ = Scheduler::the().now();
  leaves_connections_ = !breaks_connections;
  note_disturbance();
}

void Server::copy(bool lost_nothing) {
  const std::int64_t system = aside_.model.here.system;
  aside_.model.tables = Tables(model.tables);
  aside_.model.here = model.here;
  aside_.model.here.system = system;
  if (lost_nothing) {
    const Value parameters[] = {aside_.model.here.text(), std::int64_t{1}, std::int64_t{1}};
    aside_.model.run(StoreModel::sql().settle_failover, parameters, clock_ms(), random_);
  }
  aside_.commits = {aside_.model.tables};
}

void Server::become(const Tables& tables, const ServerName& name) {
  ++session_;
  note_disturbance();
  model.tables = Tables(tables);
  model.here = name;
  forget_commits();
}

const Tables& Server::before(std::size_t commits) const {
  return commits_[commits_.size() - 1 - std::min(commits, commits_.size() - 1)];
}

void Server::forget_commits() {
  commits_ = {model.tables};
}

Time Server::latency() {
  if (network.delay > 0 && random_.one_in(network.delay))
    return random_.spread(millisecond, network.longest_delay);
  return slowness + random_.spread(20 * microsecond, 4 * millisecond);
}

Server::Reply Server::run(int store, const char* statement, StoreModel::Parameters parameters, int host,
                          int process) {
  ++requests_;
  const bool is_other = store != store_;
  if (is_other) exchange();
  Reply reply = run(statement, parameters, host, process);
  if (is_other) exchange();
  return reply;
}

Server::Reply Server::run(const char* statement, StoreModel::Parameters parameters, int host, int process) {
  Reply reply;
  try {
    reply.rows = model.run(statement, parameters, clock_ms(), random_);
  } catch (const Error& error) {
    return {.sqlstate = error.sqlstate(), .error = error.what(), .code = static_cast<int>(error.code())};
  }
  if (!StoreModel::changes_rows(statement)) return reply;
  commits_.push_back(model.tables);
  if (statement == StoreModel::sql().update_tag) {
    tags_changed_at_ = Scheduler::the().now();
    log_.note("a tag is changed", process);
  }
  if (statement == StoreModel::sql().give_up)
    ledger_.window_given_back(process, reply.rows.empty() ? 0 : window_end_of(reply.rows[0].integer(0)));
  tell_grants(statement, parameters, reply.rows, host, process);
  return reply;
}

std::int64_t Server::copy_number() {
  const std::pair here(model.here.system, model.here.tables);
  auto known = std::ranges::find(copies_, here);
  if (known == copies_.end()) known = copies_.insert(copies_.end(), here);
  return known - copies_.begin();
}

void Server::tell_grants(const char* statement, StoreModel::Parameters parameters,
                         const StoreModel::Rows& rows, int host, int process) {
  if (rows.empty()) return;
  const store::Sql& sql = StoreModel::sql();
  const Row& row = rows[0];
  if (statement == sql.grant_segment || statement == sql.grant_exactly) {
    const auto name = std::ranges::find(tag_names, std::get<std::string>(parameters[0]));
    const Range ids{row.integer(0), row.integer(1)};
    ledger_.tag_granted(static_cast<int>(name - tag_names.begin()), ids, host, process,
                        {.store = store_, .copy = copy_number()}, row.text(4));
    log_.note("granted of " + *name, process, ids.lo, ids.hi);
    std::int64_t& longest = longest_steps_.try_emplace(*name, longest_segment).first->second;
    longest = std::max(longest, row.integer(2));
    if (statement == sql.grant_segment && ids.hi - ids.lo > longest)
      ledger_.fail(
          fmt::format("a segment of {} has {} IDs, where {} are the most", *name, ids.hi - ids.lo, longest));
  } else if (statement == sql.renew || statement == sql.acquire_held || statement == sql.acquire_new ||
             statement == sql.acquire_silent || statement == sql.acquire_this) {
    const Range time{row.integer(1), row.integer(2)};
    ledger_.worker_granted(row.integer(0), time, host, process, {.store = store_, .copy = copy_number()},
                           statement == sql.renew);
    log_.note("leased", process, row.integer(0), time.lo);
    log_.note("until", process, row.integer(0), time.hi);
    say_lease(statement == sql.renew ? "renewed" : "acquired", process, row.integer(0));
  } else if (statement == sql.give_up_others) {
    for (const Row& one : rows) say_lease("given up", process, one.integer(0));
  } else if (statement == sql.give_up || statement == sql.recycle) {
    say_lease(statement == sql.give_up ? "given up" : "recycled", process, row.integer(0));
  }
}

std::int64_t Server::window_end_of(std::int64_t worker) const {
  return std::ranges::find(model.tables.workers, worker, &WorkerRow::id)->window_end;
}

/// For who reads it: where the last window of the worker ends now.
void Server::say_lease(std::string_view what, int process, std::int64_t worker) const {
  if (!log_.is_read()) return;
  log_.say(what, process, std::to_string(worker) + " to " + std::to_string(window_end_of(worker)));
}

}  // namespace leaf::simulation

/// In the place of those that are loaded as modules.
const leaf::store::Driver& leaf::store::driver(const std::string&) {
  return leaf::simulation::model_driver;
}
