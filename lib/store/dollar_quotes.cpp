#include "store/dollar_quotes.hpp"

#include <fmt/format.h>

namespace leaf::store {

std::string unused_ending(std::string_view text) {
  std::string ending = "_0";
  for (int n = 1; text.find(ending) != text.npos; ++n) ending = fmt::format("_{}", n);
  return ending;
}

std::string apart_from(std::string_view form, std::string_view put_in) {
  constexpr std::string_view of_tags = "abcdefghijklmnopqrstuvwxyz_";
  if (put_in.find('$') == put_in.npos) return std::string(form);
  const std::string ending = unused_ending(put_in);
  std::string text;
  for (auto at = form.find('$'); at != form.npos; at = form.find('$')) {
    const auto end = form.find_first_not_of(of_tags, at + 1);
    const bool is_quote = end != form.npos && form[end] == '$';
    text += form.substr(0, is_quote ? end : at + 1);
    if (is_quote) text += ending + '$';
    form.remove_prefix(is_quote ? end + 1 : at + 1);
  }
  return text.append(form);
}

}  // namespace leaf::store
