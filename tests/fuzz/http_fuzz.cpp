// Whatever comes in as HTTP is read within its bounds, and alike however it is cut; and so is what stands in
// URLs.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "serve/http_request.hpp"
#include "serve/json_text.hpp"
#include "serve/tokens.hpp"
#include "text/text_escape.hpp"

namespace {

using leafctl::serve::HttpRequest;
using Parsed = HttpRequest::Parsed;

void require(bool holds) {
  if (!holds) std::abort();
}

/// In memory that ends where the text does.
Parsed parse(HttpRequest& request, std::string_view text, std::unique_ptr<char[]>& memory) {
  memory = std::make_unique<char[]>(text.size());
  text.copy(memory.get(), text.size());
  const Parsed parsed = request.parse({memory.get(), text.size()});
  if (parsed == Parsed::wrong) require(request.status >= 400 && !request.mistake.empty());
  if (parsed != Parsed::complete) return parsed;
  require(request.size > 0 && request.size <= text.size());
  require(request.body.size() <= HttpRequest::max_body);
  for (const std::string_view part :
       {request.method_text, request.path, request.query, request.authorization, request.content_type})
    require(part.empty() ||
            (part.data() >= memory.get() && part.data() + part.size() <= memory.get() + text.size()));
  return parsed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  HttpRequest whole, part;
  std::unique_ptr<char[]> whole_memory, part_memory;
  if (parse(whole, input, whole_memory) == Parsed::complete) {
    for (std::size_t cut = 0; cut < whole.size; ++cut)
      require(parse(part, input.substr(0, cut), part_memory) != Parsed::complete);
    require(parse(part, input.substr(0, whole.size), part_memory) == Parsed::complete);
    require(part.path == whole.path && part.query == whole.query && part.body == whole.body);
    static_cast<void>(leafctl::serve::token_in(whole.authorization));
    static_cast<void>(leafctl::serve::query_parameter(whole.query, "n"));
  }
  for (const bool is_query : {false, true}) {
    const auto decoded = leafctl::serve::decode_url_text(input, is_query);
    require(!decoded || (leafctl::is_utf8(*decoded) && decoded->find('\0') == std::string::npos));
  }
  std::string json;
  leafctl::serve::append_json(input, json);
  require(leafctl::is_utf8(json) && json.find('\n') == std::string::npos);
  return 0;
}
