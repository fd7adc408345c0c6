#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace leaf::test {

/// Programs in several languages that draw from one host's buffers at once, some of which are killed or
/// stopped now and then. Each reads how many IDs to draw, a line at a time, and answers with that many of the
/// tag `storm`, such as "t123", and some snowflakes, such as "s456", a line each, and "." when it is done.
/// Every ID is checked as it comes. LEAFCTL_STORE and its like are set.
class MixedStorm {
 public:
  /// How one language came through.
  struct Tally {
    std::int64_t tag_ids = 0;
    std::int64_t snowflakes = 0;
    std::int64_t kills = 0;
    std::int64_t stops = 0;
  };

  /// `languages`: a name, and the shell command of its program.
  MixedStorm(std::map<std::string, std::string> languages, unsigned seed);
  ~MixedStorm();
  MixedStorm(const MixedStorm&) = delete;
  MixedStorm& operator=(const MixedStorm&) = delete;

  /// Draws until there are so many IDs of the tag, at least, and some of each language. `ids_a_request` from
  /// each program at a time. Throws std::runtime_error for an ID that is not right, or a program that fails.
  void run(std::int64_t ids, std::int64_t ids_a_request);

  const std::map<std::string, Tally>& tallies() const noexcept { return tallies_; }
  std::int64_t highest_tag_id() const noexcept { return highest_tag_id_; }
  /// All snowflakes, in no order. Whether one came twice is not known before all are there.
  const std::vector<std::int64_t>& snowflakes() const noexcept { return snowflakes_; }

 private:
  struct Program {
    std::string language;
    pid_t process = -1;  ///< and its process group
    int requests = -1;
    int answers = -1;
    bool busy = false;
    std::chrono::steady_clock::time_point asked_at{};
    int stopped_for = 0;  ///< so many more requests to others
    std::string unread{};
    // What each ID has to be above.
    std::int64_t tag_floor = 0;
    std::int64_t snowflake_floor = 0;
  };

  void start(Program& program);
  void request(Program& program, std::int64_t ids);
  bool read_answers(Program& program);
  void take_line(Program& program, std::string_view line);
  void take_tag_id(Program& program, std::int64_t id);
  void take_snowflake(Program& program, std::int64_t id);
  void kill_and_restart(Program& program);
  void disturb();
  static void wake(Program& program);
  void wake_all();
  bool all_have_drawn() const;
  bool is_kept_waiting() const;
  std::size_t stopped() const;

  const std::map<std::string, std::string> commands_;
  std::vector<Program> programs_;
  std::map<std::string, Tally> tallies_;
  std::vector<bool> seen_;
  std::int64_t tag_ids_ = 0;
  std::int64_t highest_tag_id_ = 0;
  std::int64_t highest_snowflake_ = 0;
  std::vector<std::int64_t> snowflakes_;
  std::minstd_rand random_;
};

}  // namespace leaf::test
