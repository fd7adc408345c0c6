#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "leaf/error.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"

namespace leaf::c {

/// A struct of leaf.h whose member `size` tells versions of that header apart, as this version knows it: what
/// an earlier header lacks is 0. Throws Error (usage) that calls it `name`.
template <class Struct>
Struct known_part(const Struct& given, const char* name) {
  Struct result{};
  if (given.size < sizeof result.size || given.size % alignof(Struct) != 0) {
    throw Error(ErrorCode::usage, fmt::format("{} has no size that it can have", name),
                advice("set its member 'size' to sizeof({})"_hint, name));
  }
  std::memcpy(&result, &given, std::min(given.size, sizeof result));
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&given);
  if (given.size > sizeof result &&
      std::any_of(bytes + sizeof result, bytes + given.size, [](unsigned char byte) { return byte != 0; })) {
    throw Error(ErrorCode::usage, fmt::format("{} sets what this libleaf does not know", name),
                "the program was compiled with the header of a later release: install that libleaf"_hint);
  }
  return result;
}

}  // namespace leaf::c
