#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "leaf/layout.hpp"

namespace leafctl {

/// What IDs may be.
struct LayoutCandidate {
  std::string name;                        ///< of the layout; `dense` for numbers that are counted up
  std::optional<leaf::Layout> layout;      ///< absent: dense
  double score = 0;                        ///< from 0 to 1
  std::string why;                         ///< in a few words, what speaks for it or against it
  std::optional<leaf::UnixTime> newest{};  ///< the latest of the times that are likely; absent: few are
};

/// What a sample of IDs is taken for.
struct LayoutGuess {
  std::vector<LayoutCandidate> candidates;  ///< the most likely first
  bool is_known = false;                    ///< the first one is likely at all
  bool is_sure = false;                     ///< and no other one that tells other times comes near
};

/// How many IDs are enough to look at.
inline constexpr std::size_t guess_sample = 65536;

/// Takes a guess at the layout of `sample`, IDs in the order in which they came, among all known ones and
/// `own`. What counts is that times lie between 2010 and a day after `now`, better late than early; that
/// workers are few; and that sequence numbers begin low and go on by one. Layouts that differ in their epoch
/// alone are told apart by the age of IDs: sure is one by which they are of now.
LayoutGuess guess_layout(std::span<const std::int64_t> sample, const std::optional<leaf::Layout>& own,
                         leaf::UnixTime now);

}  // namespace leafctl
