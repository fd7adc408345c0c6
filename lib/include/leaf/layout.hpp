#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "leaf/export.hpp"

namespace leaf {

/// A point in time as IDs hold it: Unix time in milliseconds.
using UnixTime = std::chrono::sys_time<std::chrono::milliseconds>;

/// A run of bits in an ID.
class LayoutField {
 public:
  /// What the bits mean. `time` and `sequence` are the fields of that name, `worker` is every other one.
  enum class Role : std::uint8_t { time, worker, sequence };
  static constexpr std::size_t max_name_size = 15;

  constexpr LayoutField() = default;
  /// `name` has at most max_name_size characters.
  constexpr LayoutField(std::string_view name, int bits, int shift)
      : name_size_(static_cast<std::uint8_t>(name.size())),
        bits_(static_cast<std::uint8_t>(bits)),
        shift_(static_cast<std::uint8_t>(shift)) {
    for (std::size_t i = 0; i < name.size(); ++i) name_[i] = name[i];
  }

  constexpr std::string_view name() const noexcept { return {name_.data(), name_size_}; }
  constexpr int bits() const noexcept { return bits_; }
  /// How many bits of the ID are to the right of this field.
  constexpr int shift() const noexcept { return shift_; }
  constexpr Role role() const noexcept {
    return name() == "time" ? Role::time : name() == "sequence" ? Role::sequence : Role::worker;
  }
  /// The greatest value; the least is 0.
  constexpr std::int64_t max() const noexcept {
    return static_cast<std::int64_t>((std::uint64_t{1} << bits_) - 1);
  }
  /// The value in an ID that is not negative.
  constexpr std::int64_t of(std::int64_t id) const noexcept { return (id >> shift_) & max(); }
  /// The bits of an ID that hold `value`, which is from 0 to max().
  constexpr std::int64_t in_place(std::int64_t value) const noexcept { return value << shift_; }

  friend constexpr bool operator==(const LayoutField&, const LayoutField&) = default;

 private:
  std::array<char, max_name_size> name_{};
  std::uint8_t name_size_ = 0;
  std::uint8_t bits_ = 0;
  std::uint8_t shift_ = 0;
};

/// The name and width of a field of a layout to be made.
struct FieldWidth {
  std::string_view name;
  int bits = 0;
};

/// What an ID holds.
struct DecodedId {
  UnixTime time;  ///< when the unit of time began in which it was made
  std::int64_t worker =
      0;  ///< all worker fields as one number, the leftmost the most significant; 0 without any
  std::int64_t sequence = 0;  ///< 0 without such a field
};

/// The least and the greatest ID of a range of time, both included.
struct IdBounds {
  std::int64_t first = 0;
  std::int64_t last = 0;
  friend bool operator==(const IdBounds&, const IdBounds&) = default;
};

/// How the 63 usable bits of a snowflake ID are divided, and from which moment and in which unit its time
/// counts. The fields fill the ID up to its lowest bit. A value: cheap to copy, never changes.
class LEAF_EXPORT Layout {
 public:
  static constexpr std::size_t max_fields = 8;
  /// IDs fit in a signed 64-bit integer and are never negative.
  static constexpr int usable_bits = 63;

  /// Makes a layout of one of these forms:
  ///
  ///     leaf                                                a known one: see known_layouts()
  ///     baidu:29+21+13                                      its fields in other widths
  ///     41,10,12                                            widths of time, worker, sequence
  ///     time:39,sequence:8,machine:16/10ms@1409529600000    fields by name / unit @ epoch
  ///
  /// `/UNIT` (1ms to 1h) and `@EPOCH` (Unix milliseconds) may follow any form; what is left out is the named
  /// layout's own, else that of `leaf`. `,` and `+` mean the same. Widths without names are for 2 fields
  /// (time, sequence), 3 (time, worker, sequence) or 4 (time, datacenter, worker, sequence). Throws Error
  /// (usage) that says what is wrong.
  static Layout parse(std::string_view text);

  /// `fields` from the most significant bit on: exactly one named `time`, at most one named `sequence`, the
  /// others under names of their own (a letter, then letters, digits and `_`, all lower case, at most 15; not
  /// `id`, `layout` or `unix_ms`). `unit` is from 1 ms to 1 h, `epoch` from 1970 to 9999. Throws Error
  /// (usage).
  Layout(std::span<const FieldWidth> fields, std::chrono::milliseconds unit, UnixTime epoch);

  /// The form in which a layout is stored and compared: all its fields by name, the unit and the epoch, such
  /// as `time:41,worker:10,sequence:12/1ms@1288834974657`. Two layouts are equal exactly when their texts
  /// are.
  std::string text() const;
  /// The name of the known layout that equals this one, else text().
  std::string name() const;

  std::span<const LayoutField> fields() const noexcept { return {fields_.data(), size_}; }
  /// The field of that name, or null.
  const LayoutField* field(std::string_view name) const noexcept;
  std::chrono::milliseconds unit() const noexcept { return unit_; }
  /// The first time.
  UnixTime epoch() const noexcept { return epoch_; }
  /// The last unit of time: where the time field ends, but not past the year 9999.
  UnixTime last_time() const noexcept { return time_at(max_ticks_); }
  /// True if the time comes first, so that IDs are in order of time.
  bool ordered_by_time() const noexcept { return time_.shift() + time_.bits() == bits_; }

  /// Units from the epoch to last_time().
  std::int64_t max_ticks() const noexcept { return max_ticks_; }
  /// The greatest worker, over all worker fields.
  std::int64_t max_worker() const noexcept { return max_worker_; }
  std::int64_t max_sequence() const noexcept { return sequence_.max(); }

  /// The whole units between the epoch and `time`. Throws Error (exhausted) before the epoch and past
  /// last_time().
  std::int64_t ticks_at(UnixTime time) const;
  /// When a unit begins. `ticks` is from 0 to max_ticks().
  UnixTime time_at(std::int64_t ticks) const noexcept { return epoch_ + ticks * unit_; }

  /// The bits of an ID that hold `worker`. Throws Error (usage) unless it is from 0 to max_worker().
  std::int64_t worker_bits(std::int64_t worker) const;
  /// The ID of a unit of time, of worker_bits() and of a sequence number. Nothing is checked.
  std::int64_t compose(std::int64_t ticks, std::int64_t worker_bits, std::int64_t sequence) const noexcept {
    return time_.in_place(ticks) | worker_bits | sequence_.in_place(sequence);
  }
  /// Throws Error: `exhausted` as ticks_at() does, `usage` for a worker or sequence out of bounds.
  std::int64_t compose(UnixTime time, std::int64_t worker, std::int64_t sequence) const;

  /// True if an ID of this layout can have this value: it is not negative, not wider than the layout, and its
  /// time not past last_time().
  bool holds(std::int64_t id) const noexcept {
    return id >= 0 && id <= max_id() && time_.of(id) <= max_ticks_;
  }
  /// The time in an ID that this layout holds.
  UnixTime time_of(std::int64_t id) const noexcept { return time_at(time_.of(id)); }
  /// The worker in an ID that this layout holds; see DecodedId.
  std::int64_t worker_of(std::int64_t id) const noexcept;
  /// The sequence number in an ID that this layout holds.
  std::int64_t sequence_of(std::int64_t id) const noexcept { return sequence_.of(id); }
  /// Takes an ID apart; LayoutField::of() gives single fields. Throws Error (usage) unless the layout holds
  /// it.
  DecodedId decompose(std::int64_t id) const;

  /// The least ID of the unit that `time` falls in. Throws as ticks_at() does.
  std::int64_t first_id(UnixTime time) const;
  /// The greatest ID of the unit that `time` falls in. Throws as ticks_at() does.
  std::int64_t last_id(UnixTime time) const;
  /// The bounds of all IDs whose time (that of decompose()) is in [from, to): adjacent ranges share no ID and
  /// leave none out. Throws Error: `usage` unless ordered_by_time() and a unit begins in the range;
  /// `exhausted` if it begins before the epoch or ends past the end of last_time()'s unit.
  IdBounds bounds(UnixTime from, UnixTime to) const;
  /// The bounds of all IDs whose time is `from` or later. Throws as bounds(from, to) does.
  IdBounds bounds(UnixTime from) const;

  friend bool operator==(const Layout&, const Layout&) = default;

 private:
  std::int64_t max_id() const noexcept { return static_cast<std::int64_t>((std::uint64_t{1} << bits_) - 1); }
  std::int64_t first_ticks_from(UnixTime time) const;

  std::array<LayoutField, max_fields> fields_{};
  std::size_t size_ = 0;
  int bits_ = 0;
  LayoutField time_;
  LayoutField sequence_;  // no bits if the layout has no such field
  std::chrono::milliseconds unit_;
  UnixTime epoch_;
  std::int64_t max_ticks_ = 0;
  std::int64_t max_worker_ = 0;
};

/// A layout under a name.
struct KnownLayout {
  std::string_view name;
  std::string_view text;     ///< as Layout::text()
  std::string_view summary;  ///< whose IDs they are
};

/// The layouts that Layout::parse() knows by name; `leaf` comes first.
LEAF_EXPORT std::span<const KnownLayout> known_layouts() noexcept;

}  // namespace leaf
