// Whatever comes in as Redis' protocol is read within its bounds, and alike however it is cut.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "serve/resp.hpp"

namespace {

using leaf::fuzz::Bounded;
using leaf::fuzz::require;
using leafctl::serve::RespCommand;
using Parsed = RespCommand::Parsed;

Parsed parse(RespCommand& command, std::string_view text, std::optional<Bounded>& memory) {
  memory.emplace(text);
  const Parsed parsed = command.parse(memory->text());
  if (parsed != Parsed::complete && parsed != Parsed::empty) return parsed;
  require(command.size() > 0 && command.size() <= text.size(), "a command is within the text", text);
  for (const std::string_view word : command.words())
    require(memory->holds(word), "a word is within the text", text);
  return parsed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  RespCommand whole, part;
  std::optional<Bounded> whole_memory, part_memory;
  const Parsed parsed = parse(whole, input, whole_memory);
  if (parsed != Parsed::complete && parsed != Parsed::empty) {
    if (parsed == Parsed::wrong)
      require(parse(part, std::string(input) + "\r\n", part_memory) == Parsed::wrong,
              "more input repairs nothing that is wrong", input);
    return 0;
  }
  const std::vector<std::string> words(whole.words().begin(), whole.words().end());
  for (std::size_t cut = 0; cut < whole.size(); ++cut)
    require(parse(part, input.substr(0, cut), part_memory) == Parsed::incomplete, "a part is not the whole",
            input);
  require(parse(part, input.substr(0, whole.size()), part_memory) == parsed,
          "what follows is no part of a command", input);
  require(words == std::vector<std::string>(part.words().begin(), part.words().end()),
          "what follows changes nothing", input);
  return 0;
}
