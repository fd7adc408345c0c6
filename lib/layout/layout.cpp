#include "leaf/layout.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "layout/layout_text.hpp"
#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leaf {
namespace {

using namespace std::chrono_literals;

// The last time that RFC 3339 can write.
constexpr UnixTime end_of_9999{253402300799999ms};

[[noreturn]] void refuse(const std::string& what, std::string hint = {}) {
  throw Error(ErrorCode::usage, what, std::move(hint));
}

bool is_field_name(std::string_view name) {
  const auto letter = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto allowed = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.size() <= LayoutField::max_name_size && letter(name[0]) &&
         std::ranges::all_of(name, allowed);
}

void check_name(std::string_view name, std::span<const LayoutField> earlier) {
  if (!is_field_name(name)) {
    refuse(fmt::format("'{}' cannot name a field of a layout", name),
           fmt::format("use at most {} of a-z, 0-9 and _, a letter first"_hint, LayoutField::max_name_size));
  }
  if (name == "id" || name == "layout" || name == "unix_ms") {
    refuse(fmt::format("'{}' cannot name a field of a layout: it means something else in output", name));
  }
  if (std::ranges::any_of(earlier, [&](const LayoutField& field) { return field.name() == name; })) {
    refuse(fmt::format("a layout cannot have two fields named '{}'", name));
  }
}

int sum_of_bits(std::span<const FieldWidth> fields) {
  int sum = 0;
  for (const auto& field : fields) {
    if (field.bits < 1 || field.bits > Layout::usable_bits) {
      refuse(fmt::format("field '{}' of a layout has from 1 to {} bits, not '{}'", field.name,
                         Layout::usable_bits, field.bits));
    }
    sum += field.bits;
  }
  if (sum > Layout::usable_bits) {
    refuse(fmt::format("the fields of a layout have {} bits, but an ID has {}", sum, Layout::usable_bits),
           "the sign bit of a 64-bit ID stays 0; take one bit off the time"_hint);
  }
  return sum;
}

}  // namespace

Layout::Layout(std::span<const FieldWidth> fields, std::chrono::milliseconds unit, UnixTime epoch)
    : unit_(unit), epoch_(epoch) {
  if (fields.empty() || fields.size() > max_fields) {
    refuse(fmt::format("a layout has from 1 to {} fields, not '{}'", max_fields, fields.size()));
  }
  if (unit < std::chrono::milliseconds(1) || unit > 1h) refuse("the unit of a layout is from 1ms to 1h");
  if (epoch < UnixTime{} || epoch > end_of_9999)
    refuse("the epoch of a layout is from the year 1970 to 9999");
  bits_ = sum_of_bits(fields);
  int shift = bits_;
  int worker_width = 0;
  for (const auto& [name, bits] : fields) {
    check_name(name, this->fields());
    shift -= bits;
    const LayoutField& added = fields_[size_++] = LayoutField(name, bits, shift);
    switch (added.role()) {
      case LayoutField::Role::time:
        time_ = added;
        break;
      case LayoutField::Role::sequence:
        sequence_ = added;
        break;
      case LayoutField::Role::worker:
        worker_width += bits;
        break;
    }
  }
  if (time_.bits() == 0) refuse("a layout has a field named 'time'");
  max_worker_ = (std::int64_t{1} << worker_width) - 1;
  max_ticks_ = std::min(time_.max(), static_cast<std::int64_t>((end_of_9999 - epoch) / unit));
}

const LayoutField* Layout::field(std::string_view name) const noexcept {
  const auto all = fields();
  const auto found = std::ranges::find(all, name, &LayoutField::name);
  return found == all.end() ? nullptr : &*found;
}

std::int64_t Layout::ticks_at(UnixTime time) const {
  if (time < epoch_) {
    throw Error(ErrorCode::exhausted,
                fmt::format("time '{}' is before the epoch of layout '{}'", to_rfc3339(time), name()),
                "its first time is "_hint + to_rfc3339(epoch_));
  }
  const auto ticks = static_cast<std::int64_t>((time - epoch_) / unit_);
  if (ticks > max_ticks_) {
    throw Error(ErrorCode::exhausted,
                fmt::format("time '{}' is past the end of layout '{}'", to_rfc3339(time), name()),
                "its last time is "_hint + to_rfc3339(last_time()));
  }
  return ticks;
}

std::int64_t Layout::worker_bits(std::int64_t worker) const {
  if (worker < 0 || worker > max_worker_) {
    refuse(fmt::format("layout '{}' has workers from 0 to {}, not '{}'", name(), max_worker_, worker));
  }
  std::int64_t bits = 0;
  for (std::size_t i = size_; i-- > 0;) {
    const auto& field = fields_[i];
    if (field.role() != LayoutField::Role::worker) continue;
    bits |= field.in_place(worker & field.max());
    worker >>= field.bits();
  }
  return bits;
}

std::int64_t Layout::worker_of(std::int64_t id) const noexcept {
  std::int64_t worker = 0;
  for (const auto& field : fields()) {
    if (field.role() == LayoutField::Role::worker) worker = worker << field.bits() | field.of(id);
  }
  return worker;
}

std::int64_t Layout::compose(UnixTime time, std::int64_t worker, std::int64_t sequence) const {
  if (sequence < 0 || sequence > max_sequence()) {
    refuse(fmt::format("layout '{}' has sequence numbers from 0 to {}, not '{}'", name(), max_sequence(),
                       sequence));
  }
  return compose(ticks_at(time), worker_bits(worker), sequence);
}

DecodedId Layout::decompose(std::int64_t id) const {
  if (id < 0) refuse(fmt::format("'{}' is not an ID: it is negative", id));
  if (!holds(id)) {
    refuse(fmt::format("'{}' is not an ID of layout '{}'", id, name()),
           fmt::format("they end with {} in {}"_hint, last_id(last_time()), to_rfc3339(last_time())));
  }
  return {time_of(id), worker_of(id), sequence_of(id)};
}

std::int64_t Layout::first_id(UnixTime time) const {
  return time_.in_place(ticks_at(time));
}

std::int64_t Layout::last_id(UnixTime time) const {
  return first_id(time) | (max_id() & ~time_.in_place(time_.max()));
}

std::int64_t Layout::first_ticks_from(UnixTime time) const {
  return time <= epoch_ ? 0 : ticks_at(time - 1ms) + 1;
}

IdBounds Layout::bounds(UnixTime from, UnixTime to) const {
  if (!ordered_by_time()) {
    refuse(
        fmt::format("the IDs of layout '{}' have no bounds in time, which is not their first field", name()));
  }
  ticks_at(from);
  if (from >= to) {
    refuse(fmt::format("the end '{}' must be later than the start '{}'", to_rfc3339(to), to_rfc3339(from)));
  }
  const std::int64_t first = first_ticks_from(from);
  const std::int64_t end = first_ticks_from(to);
  if (first == end) {
    refuse(fmt::format("no unit of layout '{}' begins from '{}' to before '{}'", name(), to_rfc3339(from),
                       to_rfc3339(to)),
           fmt::format("its times are {} apart; choose a longer range"_hint, unit_text(unit_)));
  }
  return {time_.in_place(first), last_id(time_at(end - 1))};
}

IdBounds Layout::bounds(UnixTime from) const {
  return bounds(from, last_time() + unit_);
}

}  // namespace leaf
