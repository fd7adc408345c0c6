#pragma once

#include <string>
#include <string_view>

namespace leafctl::serve {

constexpr std::string_view json_type = "application/json";
constexpr std::string_view problem_type = "application/problem+json";
constexpr std::string_view text_type = "text/plain;charset=utf-8";
constexpr std::string_view html_type = "text/html;charset=utf-8";
constexpr std::string_view metrics_type = "text/plain; version=0.0.4; charset=utf-8";

/// Header fields of a page: it needs nothing from elsewhere.
constexpr std::string_view page_fields =
    "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"
    "X-Content-Type-Options: nosniff\r\n";

/// What of a request its answer has to go by. Texts are borrowed.
struct HttpExchange {
  std::string_view method{};
  std::string_view path{};
  bool is_head = false;
  bool keep_alive = true;
  bool is_version_1_0 = false;
};

/// What a status is called.
std::string_view reason_of(unsigned status) noexcept;

/// An answer behind `out`. `fields` are further ones, each with its line end. Nothing of it may be stored.
void append_response(const HttpExchange& exchange, unsigned status, std::string_view content_type,
                     std::string_view body, std::string_view date, std::string_view fields, std::string& out);

/// The body of an error as RFC 9457 has it. `detail` may be empty.
std::string problem_json(unsigned status, std::string_view detail, std::string_view code);
/// The same as Spring writes it, on which Leaf runs.
std::string spring_error_json(unsigned status, std::string_view message, std::string_view path);

/// The same as tinyid writes it, which has codes of its own.
std::string tinyid_error_json(int code, std::string_view message);

/// What Leaf tells of a snowflake ID, by its own layout and in this host's time zone.
std::string leaf_decoded_json(std::string_view id);

}  // namespace leafctl::serve
