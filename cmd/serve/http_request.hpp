#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace leafctl::serve {

/// A request of HTTP/1.0 or 1.1. All texts lie in the input.
struct HttpRequest {
  static constexpr std::size_t max_head = 16 * 1024;
  static constexpr std::size_t max_body = 16 * 1024;
  /// With the framing of chunks.
  static constexpr std::size_t max_size = 64 * 1024;

  enum class Method { get, head, post, other };

  enum class Parsed {
    complete,
    incomplete,  ///< more input is needed
    wrong,       ///< `status` and `mistake` say what; what follows means nothing any more
  };

  Method method = Method::other;
  std::string_view method_text;
  std::string_view path;   ///< as it was sent, up to `?`
  std::string_view query;  ///< what follows it
  std::string_view authorization;
  std::string_view content_type;
  std::string body;  ///< without the framing of chunks
  bool keep_alive = true;
  bool is_version_1_0 = false;
  bool expects_continue = false;
  bool is_from_other_site = false;  ///< a browser says that a page of another site asks

  std::size_t size = 0;  ///< in the input
  unsigned status = 400;
  std::string mistake{};

  /// Reads the request that `input` begins with. If it is incomplete, expects_continue tells whether its head
  /// is there and the sender waits for leave to send the rest.
  Parsed parse(std::string_view input);

  /// A parameter of the query, or else of a form in the body; decoded. None if there is none; "%", which no
  /// parameter may be, for one that cannot be decoded.
  std::optional<std::string> parameter(std::string_view name) const;
};

/// `text` with %XX and, in a query, + resolved. None if it holds what is no such thing, a NUL, or what is no
/// UTF-8.
std::optional<std::string> decode_url_text(std::string_view text, bool is_query);

/// A parameter of a query: the first of that name, as it was sent. None if there is none.
std::optional<std::string_view> query_parameter(std::string_view query, std::string_view name) noexcept;

}  // namespace leafctl::serve
