#include "serve/http_response.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <ctime>

#include "serve/json_text.hpp"

namespace leafctl::serve {

std::string_view reason_of(unsigned status) noexcept {
  switch (status) {
    case 200:
      return "OK";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 431:
      return "Request Header Fields Too Large";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Internal Server Error";
  }
}

void append_response(const HttpExchange& exchange, unsigned status, std::string_view content_type,
                     std::string_view body, std::string_view date, std::string_view fields,
                     std::string& out) {
  const fmt::format_int number(status);
  out += "HTTP/1.1 ";
  out.append(number.data(), number.size());
  out += ' ';
  out += reason_of(status);
  out += "\r\nDate: ";
  out += date;
  out += "\r\nContent-Type: ";
  out += content_type;
  out += "\r\nCache-Control: no-store\r\n";
  out += fields;
  if (!exchange.keep_alive) {
    out += "Connection: close\r\n";
  } else if (exchange.is_version_1_0) {
    out += "Connection: keep-alive\r\n";
  }
  // What was not drawn for HEAD has no length.
  if (!exchange.is_head || !body.empty()) {
    const fmt::format_int length(body.size());
    out += "Content-Length: ";
    out.append(length.data(), length.size());
    out += "\r\n";
  }
  out += "\r\n";
  if (!exchange.is_head) out += body;
}

std::string problem_json(unsigned status, std::string_view detail, std::string_view code) {
  std::string json = R"({"type":"about:blank","title":)";
  append_json(reason_of(status), json);
  json += fmt::format(R"(,"status":{},"code":"{}")", status, code);
  if (!detail.empty()) {
    json += R"(,"detail":)";
    append_json(detail, json);
  }
  json += "}\n";
  return json;
}

std::string spring_error_json(unsigned status, std::string_view message, std::string_view path) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  std::string json = fmt::format(R"({{"timestamp":{},"status":{},"error":)",
                                 std::chrono::duration_cast<std::chrono::milliseconds>(now).count(), status);
  append_json(reason_of(status), json);
  json += R"(,"message":)";
  append_json(message, json);
  json += R"(,"path":)";
  append_json(path, json);
  json += '}';
  return json;
}

std::string tinyid_error_json(int code, std::string_view message) {
  std::string json = fmt::format(R"({{"data":null,"code":{},"message":)", code);
  append_json(message, json);
  json += '}';
  return json;
}

std::string leaf_decoded_json(std::string_view text) {
  constexpr std::int64_t epoch = 1288834974657;
  std::int64_t id = 0;
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto read = std::from_chars(text.data(), text.data() + text.size(), id);
  if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size())
    return "{\"errorMsg\":\"snowflake Id反解析发生异常!\"}";
  const std::int64_t time = (id >> 22) + epoch;
  const std::int64_t seconds = time >= 0 ? time / 1000 : (time - 999) / 1000;
  return fmt::format(
      R"json({{"timestamp":"{}({:%Y-%m-%d %H:%M:%S}.{:03})","sequenceId":"{}","workerId":"{}"}})json", time,
      fmt::localtime(static_cast<std::time_t>(seconds)), time - seconds * 1000, id & 0xFFF,
      (id >> 12) & 0x3FF);
}

}  // namespace leafctl::serve
