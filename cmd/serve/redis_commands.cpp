// What each command of Redis' protocol does.
#include <fmt/format.h>

#include <utility>

#include "serve/loop.hpp"
#include "serve/redis_connection.hpp"
#include "serve/redis_replies.hpp"
#include "serve/server.hpp"

namespace leafctl::serve {

namespace {

/// What Redis shows of an unknown command's arguments.
constexpr std::size_t shown_arguments = 128;
constexpr std::size_t longest_name = 256;
std::string quoted_arguments(std::span<const std::string_view> words) {
  std::string text;
  for (const std::string_view word : words.subspan(1)) {
    if (text.size() >= shown_arguments) break;
    text += fmt::format("'{}' ", word.substr(0, shown_arguments - text.size()));
  }
  return text;
}

}  // namespace

Connection::Step RedisConnection::run(Words words, std::string& out) {
  const std::string_view name = words[0];
  const RedisCommand* const command = find_redis_command(name);
  command_name_ = command != nullptr ? command->name : std::string_view();
  tag_.clear();
  if (command == nullptr) {
    // A web page that has its browser send requests here.
    if (is_command(name, "POST") || is_command(name, "HOST:")) return Step::closes;
    const std::string text = fmt::format("unknown command '{}', with args beginning with: {}",
                                         name.substr(0, shown_arguments), quoted_arguments(words));
    return fail("ERR", text, Outcome::bad_request, out);
  }
  if (!command->takes(words.size())) return wrong_number_of_arguments(command->name, out);
  if (command->needs_token() && !is_authenticated())
    return fail("NOAUTH", "Authentication required.", Outcome::denied, out);
  switch (command->id) {
    case RedisCommand::Id::incr:
    case RedisCommand::Id::incrby:
    case RedisCommand::Id::leaf_next:
    case RedisCommand::Id::leaf_range:
      return draw_of_tag(command->id, words, out);
    case RedisCommand::Id::leaf_snowflake:
      return draw_snowflakes(words, out);
    case RedisCommand::Id::leaf_decode:
      return decode(words, out);
    case RedisCommand::Id::ping:
      if (words.size() > 2) return wrong_number_of_arguments(command->name, out);
      if (words.size() == 2) {
        append_resp_bulk(words[1], out);
      } else {
        append_resp_status("PONG", out);
      }
      return succeed();
    case RedisCommand::Id::echo:
      append_resp_bulk(words[1], out);
      return succeed();
    case RedisCommand::Id::select:
      return select(words, out);
    case RedisCommand::Id::auth:
      if (words.size() > 3) return fail("ERR", "syntax error", Outcome::bad_request, out);
      return authenticate(words.back(), out);
    case RedisCommand::Id::hello:
      return hello(words, out);
    case RedisCommand::Id::client:
      return client(words, out);
    case RedisCommand::Id::command:
      return tell_commands(words, out);
    case RedisCommand::Id::config:
      if (!is_command(words[1], "GET")) return unknown_subcommand(words[1], out);
      append_settings_reply(words.subspan(2), protocol_, out);
      return succeed();
    case RedisCommand::Id::info:
      append_info_reply(
          std::chrono::duration_cast<std::chrono::seconds>(loop().now() - loop().server().began()),
          loop().server().connections(), out);
      return succeed();
    case RedisCommand::Id::reset:
      protocol_ = 2;
      has_token_ = false;
      name_.clear();
      append_resp_status("RESET", out);
      return succeed();
    case RedisCommand::Id::quit:
      append_resp_status("OK", out);
      succeed();
      return Step::closes;
  }
  return Step::closes;
}

Connection::Step RedisConnection::draw_of_tag(RedisCommand::Id command, Words words, std::string& out) {
  const std::string_view tag = words[1];
  if (!leaf::TagName::is_valid(tag))
    return fail("ERR", "a tag has 1 to 128 characters of A-Z a-z 0-9 . _ : -", Outcome::bad_request, out);
  tag_ = tag;
  if (!may_draw(tag, out)) return Step::handled;
  if (command == RedisCommand::Id::incr) return draw(tag, 1, Shape::any, Form::one, out);
  if (words.size() > 3) return wrong_number_of_arguments(command_name_, out);
  std::uint64_t count = 1;
  if (words.size() == 3 && !count_in(words[2], count, out)) return Step::handled;
  if (command == RedisCommand::Id::incrby) return draw(tag, count, Shape::consecutive, Form::one, out);
  if (command == RedisCommand::Id::leaf_range)
    return draw(tag, count, Shape::consecutive, Form::first_and_last, out);
  return draw(tag, count, Shape::any, words.size() == 3 ? Form::list : Form::one, out);
}

Connection::Step RedisConnection::draw_snowflakes(Words words, std::string& out) {
  if (words.size() > 2) return wrong_number_of_arguments(command_name_, out);
  if (!may_draw(snowflake_right, out)) return Step::handled;
  std::uint64_t count = 1;
  if (words.size() == 2 && !count_in(words[1], count, out)) return Step::handled;
  return draw({}, count, Shape::any, words.size() == 2 ? Form::list : Form::one, out);
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

Connection::Step RedisConnection::decode(Words words, std::string& out) {
  const auto id = parse_resp_integer(words[1]);
  if (!id) return fail("ERR", "value is not an integer or out of range", Outcome::bad_request, out);
  if (const auto layout = loop().server().drawing().recent_layout()) {
    append_decoded(*layout, *id, out);
    return Step::handled;
  }
  layout_.ask(loop().server().answers().layout, loop().context(),
              [this, id = *id](const SharedAnswer::Answer& found) {
                std::string answer;
                if (found.error) {
                  fail(*found.error, Sought::document, answer);
                } else {
                  append_decoded(loop().server().drawing().known_layout().value(), id, answer);
                }
                loop().count_waited(Protocol::redis, waits_since());
                resume(answer, false);
              });
  return Step::waits;
}

void RedisConnection::append_decoded(const leaf::Layout& layout, std::int64_t id, std::string& out) {
  if (!layout.holds(id)) {
    fail("ERR", fmt::format("no ID of layout '{}' can be {}", layout.name(), id), Outcome::bad_request, out);
    return;
  }
  append_decoded_reply(layout, id, protocol_, out);
  note(Kind::decode, Outcome::ok);
}

Connection::Step RedisConnection::select(Words words, std::string& out) {
  const auto number = parse_resp_integer(words[1]);
  if (!number) return fail("ERR", "value is not an integer or out of range", Outcome::bad_request, out);
  if (*number != 0) return fail("ERR", "DB index is out of range", Outcome::bad_request, out);
  append_resp_status("OK", out);
  return succeed();
}

Connection::Step RedisConnection::tell_commands(Words words, std::string& out) {
  if (words.size() == 1) {
    append_commands_reply(out);
  } else if (is_command(words[1], "COUNT")) {
    append_resp_integer(static_cast<std::int64_t>(redis_commands().size()), out);
  } else if (is_command(words[1], "DOCS")) {
    append_resp_map(0, protocol_, out);
  } else if (is_command(words[1], "INFO")) {
    append_commands_reply(words.subspan(2), protocol_, out);
  } else {
    return unknown_subcommand(words[1], out);
  }
  return succeed();
}

Connection::Step RedisConnection::authenticate(std::string_view token, std::string& out) {
  if (!loop().server().needs_token())
    return fail(
        "ERR",
        "AUTH <password> called without any password configured for the default user. Are you sure your "
        "configuration is correct?",
        Outcome::bad_request, out);
  if (loop().server().tokens()->find(token) == nullptr)
    return fail("WRONGPASS", "invalid username-password pair or user is disabled.", Outcome::denied, out);
  token_ = token;
  has_token_ = true;
  append_resp_status("OK", out);
  return succeed();
}

Connection::Step RedisConnection::hello(Words words, std::string& out) {
  int protocol = protocol_;
  if (words.size() > 1) {
    const auto version = parse_resp_integer(words[1]);
    if (!version || (*version != 2 && *version != 3))
      return fail("NOPROTO", "unsupported protocol version", Outcome::bad_request, out);
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
      return fail("ERR", "syntax error in HELLO", Outcome::bad_request, out);
    }
  }
  if (loop().server().needs_token()) {
    if (!token.empty()) {
      std::string ignored;
      authenticate(token, ignored);
      if (ignored.front() == '-') {
        out += ignored;
        return Step::handled;
      }
    } else if (!is_authenticated()) {
      return fail(
          "NOAUTH",
          "HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH "
          "<user> "
          "<pass> option can be used to authenticate the client and select the RESP protocol version at the "
          "same time",
          Outcome::denied, out);
    }
  }
  protocol_ = protocol;
  append_hello_reply(socket(), protocol_, out);
  return succeed();
}

Connection::Step RedisConnection::client(Words words, std::string& out) {
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
    return unknown_subcommand(what, out);
  }
  return succeed();
}

Connection::Step RedisConnection::wrong_number_of_arguments(std::string_view command, std::string& out) {
  return fail("ERR", fmt::format("wrong number of arguments for '{}' command", command), Outcome::bad_request,
              out);
}

Connection::Step RedisConnection::unknown_subcommand(std::string_view name, std::string& out) {
  return fail("ERR", fmt::format("unknown subcommand '{}'.", name.substr(0, shown_arguments)),
              Outcome::bad_request, out);
}

}  // namespace leafctl::serve
