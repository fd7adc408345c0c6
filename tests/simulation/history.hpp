#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leaf::simulation {

/// What may happen to those who draw.
enum class Fault : std::uint8_t {
  kill,           ///< a process dies
  stop,           ///< a process is stopped, and goes on later
  reboot,         ///< a host dies with all its processes, and its runtime folder goes
  clock,          ///< a host's clock is set
  store_clock,    ///< the server's clock is set, by seconds
  network,        ///< requests and replies are lost, warned of, refused or late
  outage,         ///< the server is away
  remove_folder,  ///< somebody removes a host's runtime folder
  failover,       ///< a standby that lacks the last commits takes over
  restore,        ///< a backup is put in the place of the store
  recycle,        ///< an operator frees a worker that is in use
  change,         ///< an operator changes steps and limits, raises, removes and adds tags
  repoint,        ///< the store's name leads to another store, or back
  relic,          ///< files outlive a reboot as they were earlier, or copies take the place of files
  damage,         ///< all programs of a host die, and a bit of a buffer's file changes
  silence,        ///< the server stands still, and answers later
  row_lock,       ///< somebody holds the lock of a tag's row
  shortage,       ///< a process can start no thread
  still_clock,    ///< a host's clock stands still
};
inline constexpr std::array fault_names{"kill",    "stop",     "reboot",        "clock",      "store-clock",
                                        "network", "outage",   "remove-folder", "failover",   "restore",
                                        "recycle", "change",   "repoint",       "relic",      "damage",
                                        "silence", "row-lock", "shortage",      "still-clock"};

/// A bit for each.
inline std::uint32_t only(std::initializer_list<Fault> faults) {
  std::uint32_t bits = 0;
  for (const Fault fault : faults) bits |= 1U << static_cast<unsigned>(fault);
  return bits;
}

/// A promise that is left out on purpose, or a remedy that an operator leaves out: the simulator has to find
/// the repeat.
enum class Control : std::uint8_t {
  none,
  no_guard,       ///< a failover is settled as if no commit were lost
  no_raise,       ///< a backup is restored into the same tables, and tags are not raised
  no_durability,  ///< the server acknowledges what a crash undoes
  copied_folder,  ///< a host's runtime folder is put back as it was, as by a snapshot
  word_of_all,    ///< that a server lost no commit is said of every server before it too
};
inline constexpr std::array control_names{"none",          "no-guard",      "no-raise",
                                          "no-durability", "copied-folder", "word-of-all"};

/// Of tests/models: histories of nothing else than what it is about, so that it can follow them.
enum class Model : std::uint8_t {
  none,
  segment,   ///< one host and one tag with segments of two; programs draw one ID each
  window,    ///< one host of the layout `leaf`; programs have windows of their own and draw one ID each
  failover,  ///< one tag; programs draw one ID at a time from the store, which fails over
};
inline constexpr std::array model_names{"none", "segment", "window", "failover"};

/// What a history is about. In a mixture of everything some coincidences are rarer than once in many
/// thousands of histories; here all else is left out.
enum class Subject : std::uint8_t {
  everything,
  names,       ///< the store's name leads to another store, and back
  removals,    ///< a tag is removed and added again, and raised
  windows,     ///< snowflakes; clocks are set, workers recycled and released
  folders,     ///< runtime folders are removed, damaged, put back, or outlive a reboot
  copies,      ///< the store's name leads to a copy of the store, and back
  fetches,     ///< who fetches is stopped or dies; clocks are set, workers recycled
  damages,     ///< files of buffers are damaged while programs have them mapped
  marks,       ///< copies of a store are used at once; the files of marks are removed or cut
  stragglers,  ///< few programs and short ranges; who is in the midst of a change is stopped, or dies
  turns,       ///< as stragglers, and the store's name leads to another store, and back, all the time
  threads,   ///< programs of several threads, some of which never wait: how long calls take, and what is lost
  takings,   ///< as stragglers; who takes a file from one who has stopped is stopped over it too, or dies
  layouts,   ///< as turns, of snowflakes; the two stores have other layouts
  units,     ///< snowflakes whose units of time are seconds, and programs with options of their own
  setbacks,  ///< the store goes back to what it was, and the marks of its tags are lost, but no buffer is
  away,      ///< programs that need nothing of the store for long, which is away; names lead elsewhere
  solos,     ///< as threads, of one thread each, whose calls often fail: what that costs
  crowds,    ///< as threads, many of which meet at one tag
  moves,     ///< as threads, and the store's name leads to another store, and perhaps back
  clocks,    ///< snowflakes, while the clock is set: which calls succeed, and how long they take
  outages,   ///< one after the other: how soon IDs come again, and what calls cost that fail
  holders,   ///< of windows of a host, who are stopped while they fetch: how long others wait
  handovers,   ///< as takings; whoever holds a file is stopped until another one is about to take it
  rewinds,     ///< as damages, of nothing but cursors, each of which is set back
  places,      ///< as some others; whoever comes to a few places of the code is held up there
  demands,     ///< for more IDs than are left, while who fetches is stopped, or the store silent
  latecomers,  ///< as turns, of tags; whoever is granted some by another store than it asked for is stopped
};
inline constexpr std::array subject_names{
    "everything", "names",    "removals",   "windows", "folders", "copies",  "fetches",
    "damages",    "marks",    "stragglers", "turns",   "threads", "takings", "layouts",
    "units",      "setbacks", "away",       "solos",   "crowds",  "moves",   "clocks",
    "outages",    "holders",  "handovers",  "rewinds", "places",  "demands", "latecomers"};

/// Stands for no subject: chance picks one of those before `damages`.
inline constexpr std::string_view chance = "chance";

/// From a step of the scheduler on chance goes by another seed: a history that begins as one does that is
/// known, and goes on in its own way.
struct Branch {
  std::int64_t step;  ///< from 1
  std::uint64_t seed;
};

/// All that a history is made of.
struct Plan {
  std::uint64_t seed = 1;
  std::optional<Subject> subject{};                       ///< absent: chance picks one
  std::uint32_t faults = (1U << fault_names.size()) - 1;  ///< a bit for each that may happen
  int most_hosts = 3;
  int most_slots = 5;   ///< programs at once
  int most_calls = 16;  ///< by all of them
  Control control = Control::none;
  Model model = Model::none;
  std::optional<Branch> branch{};

  bool may(Fault fault) const { return (faults >> static_cast<unsigned>(fault) & 1) != 0; }
  /// As options of the program.
  std::string text() const;
};

/// What a history was. Its text is not the history's memory.
struct Outcome {
  std::uint64_t hash = 0;
  std::uint64_t ids = 0;
  std::uint64_t repeats = 0;
  std::uint64_t calls = 0;
  std::uint64_t failed_calls = 0;
  std::uint64_t processes = 0;
  std::array<std::uint64_t, fault_names.size()> faults{};
  std::array<char, 400> broken{};  ///< the first promise that was broken; empty: none was

  bool is_good() const { return broken[0] == '\0'; }
};

/// A plan with less in it that breaks a promise too: with fewer faults, hosts, programs and calls, and
/// perhaps another seed.
Plan shortened(const Plan& plan);

/// A number for each step of a history: the same in two programs as long as the same happens in both.
using Steps = std::vector<std::uint32_t>;

/// Runs it; writes what happens into `text`, and its steps into `steps`, unless that is null.
Outcome run_history(const Plan& plan, std::FILE* text = nullptr, Steps* steps = nullptr);

/// Some branches of a history, around the first step at which another program took another one: what a
/// changed library does is tried out just where it begins to matter. Returns one that breaks a promise, and
/// adds to `tried` how many there were. None is tried if the steps are the same.
std::optional<Plan> broken_branch(const Plan& plan, const Steps& steps, const Steps& others_steps,
                                  std::uint64_t most, std::uint64_t& tried);

}  // namespace leaf::simulation
