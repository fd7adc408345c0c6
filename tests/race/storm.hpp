#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace leaf::test {

/// Many calls of `leafctl next` at once, again and again, of which one is killed now and then; so are the
/// processes that calls leave behind to fetch. Every ID is checked as soon as its call has ended. To be run
/// in a process without other children; LEAFCTL_STORE and its like are set.
class Storm {
 public:
  /// How one tag came through.
  struct Tag {
    std::string name;
    bool spared = false;  ///< none of its processes is killed
    std::vector<bool> seen{};
    std::int64_t highest = 0;  ///< that a call which has ended has printed
    std::int64_t printed = 0;
    std::int64_t kills = 0;
  };

  /// A call asks for one ID, now and then for `many`.
  Storm(std::string leafctl, std::vector<Tag> tags, std::int64_t many);
  ~Storm();
  Storm(const Storm&) = delete;
  Storm& operator=(const Storm&) = delete;

  /// Makes that many calls, `at_once` at a time, then kills all that are under way. Returns when no process
  /// is left. Throws std::runtime_error for an ID or a call that is not right.
  void run(std::int64_t calls, std::size_t at_once, std::chrono::milliseconds between_kills);
  /// One more call, of every tag, alone. Throws as above.
  void call_each_once();

  const std::vector<Tag>& tags() const noexcept { return tags_; }

 private:
  struct Call {
    Tag* tag = nullptr;
    std::int64_t count = 0;
    std::int64_t floor = 0;  ///< what every ID has to be above
    int output = -1;
    bool killed = false;
  };

  void start(Tag& tag, std::int64_t count, std::chrono::seconds timeout);
  void start_any();
  void finish(Call call, int status);
  void check(Call& call, const std::string& output, int status);
  std::int64_t note_ids(Call& call, const std::string& output);
  bool reap_one();
  void kill_one();
  void kill_all();
  Tag* tag_to_kill(pid_t process);

  std::string leafctl_;
  std::vector<Tag> tags_;
  std::int64_t many_;
  std::map<pid_t, Call> calls_;
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace leaf::test
