#include "serve/redis_connection.hpp"

#include <fmt/format.h>

#include <utility>

#include "serve/loop.hpp"
#include "serve/server.hpp"

namespace leafctl::serve {

RedisConnection::RedisConnection(Loop& loop, int socket, std::unique_ptr<TlsSession> tls, std::string remote)
    : Connection(loop, Protocol::redis, socket, std::move(tls), std::move(remote)) {}

RedisConnection::~RedisConnection() {
  RedisConnection::abandon();
}

void RedisConnection::abandon() noexcept {
  if (draw_) {
    draw_->drawer = nullptr;
    loop().drawing().abandon(tag_, *draw_);
    draw_.reset();
  }
  layout_.forget();
}

void RedisConnection::append_late(std::string& out) {
  append_resp_error("ERR", "Protocol error: the command did not arrive in time", out);
}

Connection::Step RedisConnection::handle(std::string_view& input, std::string& out) {
  RespCommand& command = loop().resp_command();
  const RespCommand::Parsed parsed = command.parse(input);
  if (parsed == RespCommand::Parsed::incomplete) return Step::incomplete;
  if (parsed == RespCommand::Parsed::wrong) {
    command_name_.clear();
    fail("ERR", fmt::format("Protocol error: {}", command.mistake()), Outcome::bad_request, out);
    return Step::rejects;
  }
  const Words words = command.words();
  input.remove_prefix(command.size());
  if (parsed == RespCommand::Parsed::empty) return Step::handled;
  return run(words, out);
}

/// Tokens may have been read anew since.
bool RedisConnection::is_authenticated() {
  if (!loop().server().needs_token()) return true;
  has_token_ = has_token_ && loop().server().tokens()->find(token_) != nullptr;
  return has_token_;
}

bool RedisConnection::may_draw(std::string_view right, std::string& out) {
  if (!loop().server().needs_token()) return true;
  const auto tokens = loop().server().tokens();
  const Token* const token = tokens->find(token_);
  if (token == nullptr) {
    has_token_ = false;
    fail("NOAUTH", "Authentication required.", Outcome::denied, out);
    return false;
  }
  if (token->allows(right)) return true;
  fail("NOPERM", fmt::format("this token does not allow '{}'", right), Outcome::denied, out);
  return false;
}

Connection::Step RedisConnection::draw(std::string_view tag, std::uint64_t count, Shape shape, Form form,
                                       std::string& out) {
  std::int64_t id = 0;
  if (form == Form::one && count == 1 && loop().drawing().try_next(tag, id)) {
    const Kind kind = tag.empty() ? Kind::snowflake : Kind::segment;
    append_resp_integer(id, out);
    loop().statistics().count_ids(kind, 1);
    note(kind, Outcome::ok);
    return Step::handled;
  }
  form_ = form;
  draw_ = std::make_shared<Draw>(count, shape, static_cast<Drawer*>(this));
  if (!loop().drawing().begin(tag, draw_)) return Step::waits;
  append_drawn(out);
  return Step::handled;
}

void RedisConnection::append_drawn(std::string& out) {
  const auto draw = std::exchange(draw_, nullptr);
  if (draw->error) {
    fail(*draw->error, drawn(), out);
    return;
  }
  const Kind kind = tag_.empty() ? Kind::snowflake : Kind::segment;
  switch (form_) {
    case Form::one:
      append_resp_integer(draw->ranges.back().hi - 1, out);
      break;
    case Form::first_and_last:
      append_resp_array(2, out);
      append_resp_integer(draw->ranges.front().lo, out);
      append_resp_integer(draw->ranges.back().hi - 1, out);
      break;
    case Form::list:
      append_resp_array(static_cast<std::size_t>(draw->count), out);
      append_texts(draw->ranges, ":", "\r\n", out);
      break;
  }
  loop().statistics().count_ids(kind, draw->count);
  note(kind, Outcome::ok);
}

void RedisConnection::on_drawn() {
  std::string answer;
  append_drawn(answer);
  loop().count_waited(Protocol::redis, waits_since());
  resume(answer, false);
}

void RedisConnection::on_late() {
  RedisConnection::abandon();
  std::string answer;
  fail(leaf::Error(leaf::ErrorCode::unavailable, "the answer did not come in time"), drawn(), answer);
  loop().count_waited(Protocol::redis, waits_since());
  resume(answer, false);
}

Connection::Step RedisConnection::succeed() {
  note(Kind::connection, Outcome::ok);
  return Step::handled;
}

Connection::Step RedisConnection::fail(std::string_view kind, std::string_view text, Outcome outcome,
                                       std::string& out) {
  append_resp_error(kind, text, out);
  note(Kind::unknown, outcome);
  return Step::handled;
}

void RedisConnection::fail(const leaf::Error& error, Sought sought, std::string& out) {
  const Failure failure = failure_of(error.code(), sought);
  append_resp_error(failure.redis, error.what(), out);
  note(tag_.empty() ? Kind::snowflake : Kind::segment, failure.outcome);
}

void RedisConnection::note(Kind kind, Outcome outcome) {
  loop().statistics().count_request(Protocol::redis, kind, outcome);
  loop().count_answered(Protocol::redis);
  if (AccessLog* const log = loop().server().access_log())
    log->add({.remote = remote(),
              .protocol = Protocol::redis,
              .method = command_name_,
              .subject = tag_,
              .outcome = outcome});
}

}  // namespace leafctl::serve
