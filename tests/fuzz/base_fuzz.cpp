// Numbers in each base, written and read, beside arithmetic in twice the width.
#include <algorithm>
#include <cctype>
#include <optional>
#include <string>

#include "fuzz/fuzz.hpp"
#include "leaf/id_form.hpp"

namespace {

using leaf::fuzz::Choices;
using leaf::fuzz::require;

std::optional<std::int64_t> expected(const leaf::IdBase& base, std::string_view text) {
  if (text.empty()) return std::nullopt;
  leaf::fuzz::Wide value = 0;
  for (char c : text) {
    const bool is_letter = std::isalpha(static_cast<unsigned char>(c)) != 0;
    if (base.name == "hex" && is_letter) c = static_cast<char>(c | 0x20);
    if (base.name == "base32" && is_letter) c = static_cast<char>(c & ~0x20);
    if (base.name == "base32" && (c == 'I' || c == 'L')) c = '1';
    if (base.name == "base32" && c == 'O') c = '0';
    const auto digit = base.digits.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    value = value * static_cast<int>(base.digits.size()) + static_cast<int>(digit);
    if (value > INT64_MAX) return std::nullopt;
  }
  return static_cast<std::int64_t>(value);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  const std::int64_t id = choices.number() & INT64_MAX;
  const std::size_t width = choices.below(70);
  const std::string text(choices.rest());
  for (const leaf::IdBase& base : leaf::id_bases()) {
    require(base.parse(text) == expected(base, text), "a text is the number that its digits make", text);
    std::string written;
    base.append(id, width, '0', written);
    require(base.parse(written) == id, "what is written is read", written);
    require(written.size() == std::max(width, written.size() - std::min(written.find_first_not_of('0'),
                                                                        written.size() - 1)),
            "it is as wide as it has to be", written);
    std::string next;
    base.append(id == INT64_MAX ? 0 : id + 1, base.width, '0', next);
    written.clear();
    base.append(id, base.width, '0', written);
    require(written.size() == base.width && (id == INT64_MAX) == (next < written),
            "texts are in the order of their numbers", written);
  }
  // Decimal as it is read where no form is named.
  static const leaf::Layout layout = leaf::Layout::parse("time:63/1ms@0");
  const auto decimal = leaf::parse_id(text, layout);
  const auto wanted = expected(*leaf::find_id_base("dec"), text);
  const bool is_held = wanted && text == std::to_string(*wanted) && layout.holds(*wanted);
  require(decimal == (is_held ? wanted : std::nullopt),
          "an ID is a number that the layout holds, as it would be written", text);
  if (!decimal) require(*leaf::id_error(text, layout).what() != '\0', "a refusal has a text", text);
  return 0;
}
