// Whatever comes in as HTTP is read within its bounds, and alike however it is cut; and so is what stands in
// URLs.
#include <optional>
#include <string>
#include <string_view>

#include "fuzz/fuzz.hpp"
#include "leaf/detail/utf8.hpp"
#include "serve/http_request.hpp"
#include "serve/json_text.hpp"
#include "serve/tokens.hpp"

namespace {

using leaf::fuzz::Bounded;
using leaf::fuzz::require;
using leafctl::serve::HttpRequest;
using Parsed = HttpRequest::Parsed;

Parsed parse(HttpRequest& request, std::string_view text, std::optional<Bounded>& memory) {
  memory.emplace(text);
  const Parsed parsed = request.parse(memory->text());
  if (parsed == Parsed::wrong)
    require(request.status >= 400 && !request.mistake.empty(), "what is wrong has a status and a reason",
            text);
  if (parsed != Parsed::complete) return parsed;
  require(request.size > 0 && request.size <= text.size(), "a request is within the text", text);
  require(request.body.size() <= HttpRequest::max_body, "a body is no longer than it may be", text);
  for (const std::string_view part :
       {request.method_text, request.path, request.query, request.authorization, request.content_type})
    require(memory->holds(part), "a part is within the text", text);
  return parsed;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  HttpRequest whole, part;
  std::optional<Bounded> whole_memory, part_memory;
  if (parse(whole, input, whole_memory) == Parsed::complete) {
    for (std::size_t cut = 0; cut < whole.size; ++cut)
      require(parse(part, input.substr(0, cut), part_memory) != Parsed::complete, "a part is not the whole",
              input);
    require(parse(part, input.substr(0, whole.size), part_memory) == Parsed::complete,
            "what follows is no part of a request", input);
    require(part.path == whole.path && part.query == whole.query && part.body == whole.body,
            "what follows changes nothing", input);
    static_cast<void>(leafctl::serve::token_in(whole.authorization));
    static_cast<void>(leafctl::serve::query_parameter(whole.query, "n"));
  }
  for (const bool is_query : {false, true}) {
    const auto decoded = leafctl::serve::decode_url_text(input, is_query);
    require(!decoded || (leaf::detail::is_utf8(*decoded) && decoded->find('\0') == std::string::npos),
            "a decoded text is UTF-8 without zeros", input);
  }
  std::string json;
  leafctl::serve::append_json(input, json);
  require(leaf::detail::is_utf8(json) && json.find('\n') == std::string::npos, "JSON is one line of UTF-8",
          input);
  return 0;
}
