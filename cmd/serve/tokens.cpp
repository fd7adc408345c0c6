#include "serve/tokens.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/core/detail/base64.hpp>
#include <sstream>

#include "leaf/detail/shell_word.hpp"
#include "leaf/error.hpp"
#include "leaf/tag.hpp"
#include "serve/file_content.hpp"
#include "text/hint.hpp"

namespace leafctl::serve {

namespace {

constexpr std::size_t shortest_token = 8;

leaf::Error usage(const std::string& what, const std::string& hint = {}) {
  return {leaf::ErrorCode::usage, what, hint};
}

bool starts_with_word(std::string_view text, std::string_view word) {
  return text.size() > word.size() && text[word.size()] == ' ' &&
         std::equal(word.begin(), word.end(), text.begin(),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); });
}

bool is_token_character(char c) {
  return c > ' ' && c <= '~';
}

}  // namespace

bool Token::allows(std::string_view tag) const noexcept {
  return tags.empty() || std::ranges::find(tags, tag) != tags.end();
}

Tokens Tokens::read(const std::string& file) {
  const FileContent content = read_file("token file", file);
  if ((content.mode & 0007) != 0)
    throw usage(fmt::format("token file '{}' is readable by others", file),
                fmt::format("run 'chmod o= {}'"_hint, leaf::detail::shell_word(file)));
  Tokens tokens;
  std::istringstream stream(content.text);
  stream.exceptions(std::ios::badbit);  // else a lack of memory ends what it reads
  std::size_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    std::istringstream words(line);
    words.exceptions(std::ios::badbit);  // a token that is followed by no tags allows them all
    Token token;
    if (!(words >> token.text) || token.text.starts_with('#')) continue;
    const auto wrong = [&](const char* what) { return usage(fmt::format("{}:{}: {}", file, number, what)); };
    if (token.text.size() < shortest_token) throw wrong("a token has at least 8 characters");
    if (!std::ranges::all_of(token.text, is_token_character))
      throw wrong("a token consists of printable ASCII characters");
    for (std::string tag; words >> tag;) {
      if (tag != snowflake_right && !leaf::TagName::is_valid(tag))
        throw wrong("a token may be followed only by tags");
      token.tags.push_back(tag);
    }
    if (tokens.find(token.text) != nullptr) throw wrong("this token is listed twice");
    tokens.tokens_.push_back(std::move(token));
  }
  if (tokens.tokens_.empty()) throw usage(fmt::format("token file '{}' contains no tokens", file));
  return tokens;
}

const Token* Tokens::find(std::string_view text) const noexcept {
  const Token* found = nullptr;
  for (const Token& token : tokens_) {
    if (token.text.size() != text.size()) continue;
    unsigned differs = 0;
    for (std::size_t i = 0; i < text.size(); ++i)
      differs |= static_cast<unsigned char>(token.text[i]) ^ static_cast<unsigned char>(text[i]);
    if (differs == 0) found = &token;
  }
  return found;
}

std::string token_in(std::string_view authorization) {
  namespace base64 = boost::beast::detail::base64;
  if (starts_with_word(authorization, "bearer")) {
    authorization.remove_prefix(7);
    return std::string(authorization);
  }
  if (!starts_with_word(authorization, "basic")) return {};
  authorization.remove_prefix(6);
  std::string text(base64::decoded_size(authorization.size()) + 3, '\0');
  text.resize(base64::decode(text.data(), authorization.data(), authorization.size()).first);
  const std::size_t colon = text.find(':');
  return colon == std::string::npos ? std::string() : text.substr(colon + 1);
}

}  // namespace leafctl::serve
