#pragma once

#include <memory>
#include <string>

#include "serve/connection.hpp"
#include "serve/drawing.hpp"
#include "serve/failure.hpp"
#include "serve/redis_command_table.hpp"
#include "serve/resp.hpp"
#include "serve/shared_answer.hpp"
#include "serve/tokens.hpp"

namespace leafctl::serve {

/// A client of Redis: what counters need of its commands, and LEAF.* for the rest.
class RedisConnection : public Connection, private Drawer {
 public:
  RedisConnection(Loop& loop, int socket, std::unique_ptr<TlsSession> tls, std::string remote);
  ~RedisConnection() override;

 private:
  using Words = std::span<const std::string_view>;

  /// How drawn IDs are answered.
  enum class Form { one, list, first_and_last };

  Step handle(std::string_view& input, std::string& out) override;
  void append_late(std::string& out) override;
  void abandon() noexcept override;
  void on_drawn() override;
  void on_late() override;

  // In redis_commands.cpp.
  Step run(Words words, std::string& out);
  Step draw_of_tag(RedisCommand::Id command, Words words, std::string& out);
  Step draw_snowflakes(Words words, std::string& out);
  bool count_in(std::string_view word, std::uint64_t& count, std::string& out);
  Step decode(Words words, std::string& out);
  void append_decoded(const leaf::Layout& layout, std::int64_t id, std::string& out);
  Step select(Words words, std::string& out);
  Step authenticate(std::string_view token, std::string& out);
  bool is_authenticated();
  Step hello(Words words, std::string& out);
  Step client(Words words, std::string& out);
  Step tell_commands(Words words, std::string& out);

  Step unknown_subcommand(std::string_view name, std::string& out);
  Step wrong_number_of_arguments(std::string_view command, std::string& out);

  Step draw(std::string_view tag, std::uint64_t count, Shape shape, Form form, std::string& out);
  void append_drawn(std::string& out);
  bool may_draw(std::string_view right, std::string& out);

  Step succeed();
  Step fail(std::string_view kind, std::string_view text, Outcome outcome, std::string& out);
  void fail(const leaf::Error& error, Sought sought, std::string& out);
  Sought drawn() const noexcept { return tag_.empty() ? Sought::snowflake : Sought::tag; }
  void note(Kind kind, Outcome outcome);

  int protocol_ = 2;
  bool has_token_ = false;
  std::string token_;  ///< that was shown; whether it is still good is looked at each time it is used
  std::string name_;   ///< that the client gave the connection

  std::string command_name_;  ///< for the log
  std::string tag_;
  std::shared_ptr<Draw> draw_;  ///< what is waited for
  Awaited layout_;
  Form form_ = Form::one;
};

}  // namespace leafctl::serve
