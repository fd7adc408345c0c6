#include "serve/redis_connection.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <charconv>
#include <utility>
#include <vector>

#include "leaf/detail/rfc3339.hpp"
#include "leaf/version.hpp"
#include "serve/loop.hpp"
#include "serve/server.hpp"

namespace leafctl::serve {

namespace {

/// What Redis shows of an unknown command's arguments.
constexpr std::size_t shown_arguments = 128;
constexpr std::size_t longest_name = 256;
/// That of Redis whose protocol is spoken; clients look at it before they use what came later.
constexpr std::string_view redis_version = "7.0.0";

/// A command, as COMMAND tells of it.
struct Known {
  std::string_view name;
  int arity;  ///< with the name; at least so many if it is below 0
  std::string_view flags;
  int first_key;
};

constexpr Known known_commands[] = {
    {"incr", 2, "write denyoom fast", 1},
    {"incrby", 3, "write denyoom fast", 1},
    {"leaf.next", -2, "write denyoom fast", 1},
    {"leaf.range", 3, "write denyoom fast", 1},
    {"leaf.snowflake", -1, "write denyoom fast", 0},
    {"leaf.decode", 2, "readonly fast", 0},
    {"ping", -1, "fast", 0},
    {"echo", 2, "fast", 0},
    {"select", 2, "loading stale fast", 0},
    {"auth", -2, "noscript loading stale fast no_auth", 0},
    {"hello", -1, "noscript loading stale fast no_auth", 0},
    {"client", -2, "admin noscript loading stale", 0},
    {"command", -1, "loading stale", 0},
    {"config", -2, "admin noscript loading stale", 0},
    {"info", -1, "loading stale", 0},
    {"reset", 1, "noscript loading stale fast no_auth", 0},
    {"quit", -1, "fast no_auth", 0},
};

const Known* find_command(std::string_view name) noexcept {
  for (const Known& known : known_commands) {
    if (std::ranges::equal(name, known.name, [](char a, char b) {
          return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
        }))
      return &known;
  }
  return nullptr;
}

void append_command(const Known& known, std::string& out) {
  append_resp_array(6, out);
  append_resp_bulk(known.name, out);
  append_resp_integer(known.arity, out);
  std::string_view flags = known.flags;
  append_resp_array(static_cast<std::size_t>(std::ranges::count(flags, ' ')) + 1, out);
  while (!flags.empty()) {
    const std::size_t end = std::min(flags.find(' '), flags.size());
    append_resp_status(flags.substr(0, end), out);
    flags.remove_prefix(std::min(end + 1, flags.size()));
  }
  append_resp_integer(known.first_key, out);
  append_resp_integer(known.first_key, out);
  append_resp_integer(known.first_key, out);
}

/// What redis-benchmark wants to know of a server. No other setting is told.
void append_settings(std::span<const std::string_view> names, int protocol, std::string& out) {
  std::vector<std::pair<std::string_view, std::string_view>> settings;
  for (const std::string_view name : names) {
    if (is_command(name, "SAVE")) settings.emplace_back("save", "");
    if (is_command(name, "APPENDONLY")) settings.emplace_back("appendonly", "no");
  }
  append_resp_map(settings.size(), protocol, out);
  for (const auto& [name, value] : settings) {
    append_resp_bulk(name, out);
    append_resp_bulk(value, out);
  }
}

std::string quoted_arguments(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words.subspan(1)) {
    if (text.size() >= shown_arguments) break;
    text += fmt::format("'{}' ", word.substr(0, shown_arguments - text.size()));
  }
  return text;
}

}  // namespace

RedisConnection::RedisConnection(Loop& loop, int socket, std::unique_ptr<TlsSession> tls, std::string remote)
    : Connection(loop, Protocol::redis, socket, std::move(tls), std::move(remote)) {}

RedisConnection::~RedisConnection() {
  RedisConnection::abandon();
}

void RedisConnection::abandon() noexcept {
  if (draw_) draw_->drawer = nullptr;
  if (is_waiting_for_layout_) *is_waiting_for_layout_ = false;
}

void RedisConnection::append_late(std::string& out) {
  append_resp_error("ERR", "Protocol error: the command took too long to arrive", out);
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

Connection::Step RedisConnection::run(Words words, std::string& out) {
  const std::string_view name = words[0];
  // A web page that has its browser send requests here.
  if (is_command(name, "POST") || is_command(name, "HOST:")) return Step::closes;
  const Known* const known = find_command(name);
  command_name_ = known != nullptr ? known->name : std::string_view();
  tag_.clear();
  if (known == nullptr) {
    const std::string text = fmt::format("unknown command '{}', with args beginning with: {}",
                                         name.substr(0, shown_arguments), quoted_arguments(words));
    return fail("ERR", text, Outcome::bad_request, out);
  }
  const auto size = static_cast<int>(words.size());
  if (known->arity > 0 ? size != known->arity : size < -known->arity)
    return wrong_number_of_arguments(known->name, out);
  const bool needs_token = known->flags.find("no_auth") == std::string_view::npos;
  if (needs_token && !has_token_ && loop().server().tokens()->is_needed())
    return fail("NOAUTH", "Authentication required.", Outcome::denied, out);
  if (known->name.starts_with("incr") || known->name.starts_with("leaf.")) return run_drawing(words, out);

  if (is_command(name, "PING")) {
    if (size > 2) return wrong_number_of_arguments(known->name, out);
    if (size == 2) {
      append_resp_bulk(words[1], out);
    } else {
      append_resp_status("PONG", out);
    }
  } else if (is_command(name, "ECHO")) {
    append_resp_bulk(words[1], out);
  } else if (is_command(name, "SELECT")) {
    const auto number = parse_resp_integer(words[1]);
    if (!number) return fail("ERR", "value is not an integer or out of range", Outcome::bad_request, out);
    if (*number != 0) return fail("ERR", "DB index is out of range", Outcome::bad_request, out);
    append_resp_status("OK", out);
  } else if (is_command(name, "AUTH")) {
    if (size > 3) return fail("ERR", "syntax error", Outcome::bad_request, out);
    authenticate(words.back(), out);
    return Step::handled;
  } else if (is_command(name, "HELLO")) {
    hello(words, out);
    return Step::handled;
  } else if (is_command(name, "CLIENT")) {
    client(words, out);
    return Step::handled;
  } else if (is_command(name, "COMMAND")) {
    if (size > 1 && is_command(words[1], "COUNT")) {
      append_resp_integer(std::size(known_commands), out);
    } else if (size > 1 && is_command(words[1], "DOCS")) {
      append_resp_map(0, protocol_, out);
    } else if (size > 1 && is_command(words[1], "INFO")) {
      append_resp_array(words.size() - 2, out);
      for (const std::string_view word : words.subspan(2)) {
        const Known* const asked = find_command(word);
        if (asked != nullptr) {
          append_command(*asked, out);
        } else {
          append_resp_null(protocol_, out);
        }
      }
    } else if (size == 1) {
      append_resp_array(std::size(known_commands), out);
      for (const Known& one : known_commands) append_command(one, out);
    } else {
      return fail("ERR", fmt::format("unknown subcommand '{}'.", words[1].substr(0, shown_arguments)),
                  Outcome::bad_request, out);
    }
  } else if (is_command(name, "CONFIG")) {
    if (!is_command(words[1], "GET"))
      return fail("ERR", fmt::format("unknown subcommand '{}'.", words[1].substr(0, shown_arguments)),
                  Outcome::bad_request, out);
    append_settings(words.subspan(2), protocol_, out);
  } else if (is_command(name, "INFO")) {
    info(out);
  } else if (is_command(name, "RESET")) {
    protocol_ = 2;
    has_token_ = false;
    name_.clear();
    append_resp_status("RESET", out);
  } else {
    append_resp_status("OK", out);
    note(Kind::connection, Outcome::ok);
    return Step::closes;
  }
  note(Kind::connection, Outcome::ok);
  return Step::handled;
}

Connection::Step RedisConnection::run_drawing(Words words, std::string& out) {
  const std::string_view name = words[0];
  std::uint64_t count = 1;
  if (is_command(name, "LEAF.DECODE")) return decode(words, out);
  if (is_command(name, "LEAF.SNOWFLAKE")) {
    if (words.size() > 2) return wrong_number_of_arguments("leaf.snowflake", out);
    if (!may_draw(snowflake_right, out)) return Step::handled;
    if (words.size() == 2 && !count_in(words[1], count, out)) return Step::handled;
    return draw({}, count, Shape::any, words.size() == 2 ? Form::list : Form::one, out);
  }
  const std::string_view tag = words[1];
  if (!leaf::TagName::is_valid(tag))
    return fail("ERR", "a tag has 1 to 128 characters of A-Z a-z 0-9 . _ : -", Outcome::bad_request, out);
  tag_ = tag;
  if (!may_draw(tag, out)) return Step::handled;
  if (is_command(name, "INCR")) return draw(tag, 1, Shape::any, Form::one, out);
  if (is_command(name, "INCRBY")) {
    if (!count_in(words[2], count, out)) return Step::handled;
    return draw(tag, count, Shape::consecutive, Form::one, out);
  }
  if (is_command(name, "LEAF.RANGE")) {
    if (!count_in(words[2], count, out)) return Step::handled;
    return draw(tag, count, Shape::consecutive, Form::first_and_last, out);
  }
  if (words.size() > 3) return wrong_number_of_arguments("leaf.next", out);
  if (words.size() == 3 && !count_in(words[2], count, out)) return Step::handled;
  return draw(tag, count, Shape::any, words.size() == 3 ? Form::list : Form::one, out);
}

bool RedisConnection::count_in(std::string_view word, std::uint64_t& count, std::string& out) {
  const auto number = parse_resp_integer(word);
  const std::int64_t most = loop().server().options().max_count;
  if (!number) {
    fail("ERR", "value is not an integer or out of range", Outcome::bad_request, out);
  } else if (*number < 1 || *number > most) {
    fail("ERR", fmt::format("value is out of range, must be from 1 to {}", most), Outcome::bad_request, out);
  } else {
    count = static_cast<std::uint64_t>(*number);
    return true;
  }
  return false;
}

bool RedisConnection::may_draw(std::string_view right, std::string& out) {
  const auto tokens = loop().server().tokens();
  if (!tokens->is_needed()) return true;
  const Token* const token = tokens->find(token_);
  if (token == nullptr) {
    has_token_ = false;
    fail("NOAUTH", "Authentication required.", Outcome::denied, out);
    return false;
  }
  if (token->allows(right)) return true;
  fail("NOPERM", fmt::format("this token is not for '{}'", right), Outcome::denied, out);
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
  draw_ = std::make_shared<Draw>(Draw{.count = count, .shape = shape, .drawer = this});
  if (!loop().drawing().begin(tag, draw_)) return Step::waits;
  append_drawn(out);
  return Step::handled;
}

void RedisConnection::append_drawn(std::string& out) {
  const auto draw = std::exchange(draw_, nullptr);
  if (draw->error) {
    fail(*draw->error, out);
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
  const auto begun = draw_->begun;
  append_drawn(answer);
  loop().count_waited(Protocol::redis, begun);
  resume(answer, false);
}

Connection::Step RedisConnection::decode(Words words, std::string& out) {
  const auto id = parse_resp_integer(words[1]);
  if (!id) return fail("ERR", "value is not an integer or out of range", Outcome::bad_request, out);
  if (const auto layout = loop().server().drawing().known_layout()) {
    append_decoded(*layout, *id, out);
    return Step::handled;
  }
  is_waiting_for_layout_ = std::make_shared<bool>(true);
  boost::asio::post(loop().server().helpers(),
                    [this, &owner = loop(), is_waiting = is_waiting_for_layout_, id = *id] {
                      std::optional<leaf::Error> failure;
                      std::optional<leaf::Layout> layout;
                      try {
                        layout = owner.server().drawing().layout();
                      } catch (const leaf::Error& error) {
                        failure = error;
                      }
                      boost::asio::post(owner.context(), [this, is_waiting, id, failure, layout] {
                        if (!*is_waiting) return;
                        std::string answer;
                        if (layout) {
                          append_decoded(*layout, id, answer);
                        } else {
                          fail(*failure, answer);
                        }
                        is_waiting_for_layout_.reset();
                        resume(answer, false);
                      });
                    });
  return Step::waits;
}

void RedisConnection::append_decoded(const leaf::Layout& layout, std::int64_t id, std::string& out) {
  if (!layout.holds(id)) {
    fail("ERR", fmt::format("no ID of layout '{}' can be {}", layout.name(), id), Outcome::bad_request, out);
    return;
  }
  const leaf::UnixTime time = layout.time_of(id);
  append_resp_map(3 + layout.fields().size(), protocol_, out);
  append_resp_bulk("id", out);
  append_resp_integer(id, out);
  append_resp_bulk("layout", out);
  append_resp_bulk(layout.name(), out);
  append_resp_bulk("time", out);
  append_resp_bulk(leaf::detail::format_rfc3339(time), out);
  append_resp_bulk("unix_ms", out);
  append_resp_integer(time.time_since_epoch().count(), out);
  for (const leaf::LayoutField& field : layout.fields()) {
    if (field.role() == leaf::LayoutField::Role::time) continue;
    append_resp_bulk(field.name(), out);
    append_resp_integer(field.of(id), out);
  }
  note(Kind::decode, Outcome::ok);
}

void RedisConnection::authenticate(std::string_view token, std::string& out) {
  const auto tokens = loop().server().tokens();
  if (!tokens->is_needed()) {
    fail("ERR",
         "AUTH <password> called without any password configured for the default user. Are you sure your "
         "configuration is correct?",
         Outcome::bad_request, out);
    return;
  }
  if (tokens->find(token) == nullptr) {
    fail("WRONGPASS", "invalid username-password pair or user is disabled.", Outcome::denied, out);
    return;
  }
  token_ = token;
  has_token_ = true;
  append_resp_status("OK", out);
  note(Kind::connection, Outcome::ok);
}

void RedisConnection::hello(Words words, std::string& out) {
  int protocol = protocol_;
  if (words.size() > 1) {
    const auto version = parse_resp_integer(words[1]);
    if (!version || (*version != 2 && *version != 3)) {
      fail("NOPROTO", "unsupported protocol version", Outcome::bad_request, out);
      return;
    }
    protocol = static_cast<int>(*version);
  }
  std::string_view token;
  for (std::size_t i = 2; i < words.size();) {
    if (is_command(words[i], "AUTH") && i + 2 < words.size()) {
      token = words[i + 2];
      i += 3;
    } else if (is_command(words[i], "SETNAME") && i + 1 < words.size()) {
      name_ = words[i + 1].substr(0, longest_name);
      i += 2;
    } else {
      fail("ERR", "syntax error in HELLO", Outcome::bad_request, out);
      return;
    }
  }
  if (loop().server().tokens()->is_needed()) {
    if (!token.empty()) {
      std::string ignored;
      authenticate(token, ignored);
      if (ignored.front() == '-') {
        out += ignored;
        return;
      }
    } else if (!has_token_) {
      fail("NOAUTH",
           "HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH "
           "<user> "
           "<pass> option can be used to authenticate the client and select the RESP protocol version at the "
           "same time",
           Outcome::denied, out);
      return;
    }
  }
  protocol_ = protocol;
  append_resp_map(7, protocol_, out);
  append_resp_bulk("server", out);
  append_resp_bulk("leafctl", out);
  append_resp_bulk("version", out);
  append_resp_bulk(redis_version, out);
  append_resp_bulk("proto", out);
  append_resp_integer(protocol_, out);
  append_resp_bulk("id", out);
  append_resp_integer(socket(), out);
  append_resp_bulk("mode", out);
  append_resp_bulk("standalone", out);
  append_resp_bulk("role", out);
  append_resp_bulk("master", out);
  append_resp_bulk("modules", out);
  append_resp_array(0, out);
  note(Kind::connection, Outcome::ok);
}

void RedisConnection::client(Words words, std::string& out) {
  const std::string_view what = words[1];
  if (is_command(what, "SETNAME") && words.size() == 3) {
    name_ = words[2].substr(0, longest_name);
    append_resp_status("OK", out);
  } else if (is_command(what, "GETNAME")) {
    if (name_.empty()) {
      append_resp_null(protocol_, out);
    } else {
      append_resp_bulk(name_, out);
    }
  } else if (is_command(what, "SETINFO") || is_command(what, "NO-EVICT") || is_command(what, "NO-TOUCH")) {
    append_resp_status("OK", out);
  } else if (is_command(what, "ID")) {
    append_resp_integer(socket(), out);
  } else if (is_command(what, "INFO")) {
    append_resp_bulk(fmt::format("id={} addr={} fd={} name={} db=0 resp={}\n", socket(), remote(), socket(),
                                 name_, protocol_),
                     out);
  } else {
    fail("ERR", fmt::format("unknown subcommand '{}'.", what.substr(0, shown_arguments)),
         Outcome::bad_request, out);
    return;
  }
  note(Kind::connection, Outcome::ok);
}

void RedisConnection::info(std::string& out) {
  Server& server = loop().server();
  const auto up = std::chrono::duration_cast<std::chrono::seconds>(loop().now() - server.began()).count();
  append_resp_bulk(
      fmt::format("# Server\r\nredis_version:{}\r\nredis_mode:standalone\r\nleafctl_version:{}\r\n"
                  "process_id:{}\r\nuptime_in_seconds:{}\r\n\r\n# Clients\r\nconnected_clients:{}\r\n",
                  redis_version, leaf::version(), getpid(), up, server.connections()),
      out);
}

Connection::Step RedisConnection::wrong_number_of_arguments(std::string_view command, std::string& out) {
  return fail("ERR", fmt::format("wrong number of arguments for '{}' command", command), Outcome::bad_request,
              out);
}

Connection::Step RedisConnection::fail(std::string_view kind, std::string_view text, Outcome outcome,
                                       std::string& out) {
  append_resp_error(kind, text, out);
  note(Kind::unknown, outcome);
  return Step::handled;
}

void RedisConnection::fail(const leaf::Error& error, std::string& out) {
  append_resp_error(error.retryable() ? "TRYAGAIN" : "ERR", error.what(), out);
  note(tag_.empty() ? Kind::snowflake : Kind::segment, outcome_of(error));
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
