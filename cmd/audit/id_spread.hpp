#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "audit/id_fields.hpp"

namespace leafctl {

/// How sequence numbers are used, and how IDs spread over shards that are told by ID modulo a number.
class IdSpread {
 public:
  /// Sequence numbers from here on count as this one.
  static constexpr std::size_t last_sequence = 65535;
  static constexpr std::size_t most_shards = 64;

  explicit IdSpread(const std::optional<IdFields>& fields) : fields_(fields) {
    if (fields_)
      sequences_.resize(
          std::min<std::size_t>(last_sequence, static_cast<std::size_t>(fields_->layout().max_sequence())) +
          1);
  }

  void add(std::int64_t id) {
    ++residues_[static_cast<std::size_t>(id) % most_shards];
    if (fields_)
      ++sequences_[std::min(static_cast<std::size_t>(fields_->sequence_of(id)), sequences_.size() - 1)];
  }

  /// How many IDs have each sequence number; empty without a layout.
  const std::vector<std::uint64_t>& sequences() const noexcept { return sequences_; }
  /// How many IDs each of `shards` would get, a power of two up to most_shards.
  std::vector<std::uint64_t> shards(std::size_t shards) const {
    std::vector<std::uint64_t> counts(shards);
    for (std::size_t i = 0; i < most_shards; ++i) counts[i % shards] += residues_[i];
    return counts;
  }

 private:
  std::optional<IdFields> fields_;
  std::vector<std::uint64_t> sequences_;
  std::array<std::uint64_t, most_shards> residues_{};
};

}  // namespace leafctl
