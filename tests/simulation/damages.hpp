#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "simulation/ledger.hpp"
#include "simulation/random.hpp"
#include "simulation/world.hpp"

namespace leaf {
class Error;
}

namespace leaf::simulation {

/// Files of buffers that change under the programs that have them mapped, and what the manual promises of
/// that (HOST BUFFER, GUARANTEES): whoever starts looks first, and whoever draws on looks every second.
class Damages {
 public:
  /// What of a file has changed.
  enum class Part : std::uint8_t {
    header,    ///< what it is for: it is thrown away, and who has it mapped goes by what he knows
    origin,    ///< of what was buffered: it is thrown away
    checksum,  ///< and what else does not say which IDs come
    range,     ///< which IDs come
    cursor,    ///< up to which they were drawn: set back, it may repeat the last second
    record,    ///< how the fetching goes
  };

  /// Changes a file of `host`, if there is one. A mark's is left alone: of one that is damaged nothing is
  /// promised.
  std::optional<Part> damage_one(Host& host, Random& random, Log& log);
  /// Sets back the cursor of a buffer, mostly by little; false if none was drawn from yet.
  bool rewind_one(Host& host, Random& random, Log& log);

  /// Whether nothing is promised of what `process` has drawn in a call that was begun then, as it could not
  /// know of the damage yet; absent a name: of any file.
  bool is_excused(const Process& process, const std::string& of, Time begun) const;
  bool is_excused(const Process& process, Time begun) const;
  /// As above, but of the order.
  bool is_order_excused(const Process& process, const std::string& of, Time begun) const;
  /// Says what `process` still draws from.
  std::optional<std::string> not_thrown_away(const Process& process, const std::string& of, Time begun) const;

  /// Notes who draws an ID now.
  void note_drawn(int tag, std::int64_t id, const Process& process);
  /// Whether it may come again, since the cursor was set back to before it.
  bool may_repeat(int tag, std::int64_t id) const;

  /// Says which file of `host` should have been forgotten: it was damaged before, and is there still.
  std::optional<std::string> not_forgotten(const Host& host, Time since) const;

 private:
  struct Damage {
    const Host* host;
    std::shared_ptr<Inode> file;
    std::string of;
    Part part;
    Time at;
    std::map<const Process*, Time> kept_waiting{};  ///< of those that were there
  };
  struct Drawn {
    const Process* by = nullptr;
    Time at = 0;
    Time kept_waiting = 0;
  };

  bool is_known(const std::shared_ptr<Inode>& file) const;
  void note(Host& host, const std::shared_ptr<Inode>& file, std::string of, Part part);
  static bool is_unnoticed(const Damage& damage, const Process& process, Time begun);
  static bool is_excused(const Damage& damage, const Process& process, Time begun);
  bool is_unnoted(const Drawn& drawn, const Damage& damage) const;

  std::vector<Damage> damages_{};
  std::map<std::pair<int, std::int64_t>, Drawn> drawn_{};
};

}  // namespace leaf::simulation
