// Whatever comes in as Redis' protocol is read within its bounds, and alike however it is cut.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "serve/resp.hpp"

namespace {

using leafctl::serve::RespCommand;
using Parsed = RespCommand::Parsed;

void require(bool holds) {
  if (!holds) std::abort();
}

/// In memory that ends where the text does.
Parsed parse(RespCommand& command, std::string_view text, std::unique_ptr<char[]>& memory) {
  memory = std::make_unique<char[]>(text.size());
  text.copy(memory.get(), text.size());
  const Parsed parsed = command.parse({memory.get(), text.size()});
  if (parsed != Parsed::complete && parsed != Parsed::empty) return parsed;
  require(command.size() > 0 && command.size() <= text.size());
  for (const std::string_view word : command.words()) {
    require(word.empty() ||
            (word.data() >= memory.get() && word.data() + word.size() <= memory.get() + text.size()));
  }
  return parsed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  RespCommand whole, part;
  std::unique_ptr<char[]> whole_memory, part_memory;
  const Parsed parsed = parse(whole, input, whole_memory);
  if (parsed != Parsed::complete && parsed != Parsed::empty) {
    // More input repairs nothing that is wrong.
    if (parsed == Parsed::wrong)
      require(parse(part, std::string(input) + "\r\n", part_memory) == Parsed::wrong);
    return 0;
  }
  const std::vector<std::string> words(whole.words().begin(), whole.words().end());
  for (std::size_t cut = 0; cut < whole.size(); ++cut)
    require(parse(part, input.substr(0, cut), part_memory) == Parsed::incomplete);
  require(parse(part, input.substr(0, whole.size()), part_memory) == parsed);
  require(words == std::vector<std::string>(part.words().begin(), part.words().end()));
  return 0;
}
