#pragma once

#include <fmt/format.h>

#include <string_view>
#include <type_traits>

#include "leaf/remedy.hpp"

namespace leaf {

/// `form` with each {} replaced in turn; where a remedy stands for it nothing is put in, and it is noted that
/// its words fit in there.
template <class... Pieces>
Advice advice(std::string_view form, const Pieces&... pieces) {
  Advice made;
  const auto add = [&](const auto& piece) {
    const auto place = form.find("{}");
    made.hint += form.substr(0, place);
    form.remove_prefix(place + 2);
    if constexpr (std::is_same_v<std::decay_t<decltype(piece)>, Remedy>) {
      made.remedies.push_back(piece);
      made.remedies.back().at = made.hint.size();
    } else {
      made.hint += fmt::to_string(piece);
    }
  };
  (add(pieces), ...);
  made.hint += form;
  return made;
}

}  // namespace leaf
