#include "serve/http_request.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <initializer_list>

#include "leaf/detail/utf8.hpp"

namespace leafctl::serve {

namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;

std::string_view view_of(beast::string_view text) noexcept {
  return {text.data(), text.size()};
}

bool equals_ignoring_case(std::string_view a, std::string_view b) noexcept {
  return beast::iequals({a.data(), a.size()}, {b.data(), b.size()});
}

/// What is left of `target` behind a scheme and a server, as proxies are asked.
std::string_view without_server(std::string_view target) noexcept {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!equals_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    return target.substr(std::min(target.find_first_of("/?"), target.size()));
  }
  return target;
}

/// Beast does the reading; what is of use is kept, and nothing of it copied but the body.
class Parser : public http::basic_parser<true> {
 public:
  Parser(HttpRequest& request, std::string_view input) : request_(request), input_(input) {
    eager(true);
    header_limit(HttpRequest::max_head);
    body_limit(HttpRequest::max_body);
  }

  bool is_server_named() const noexcept { return is_server_named_; }

 private:
  void on_request_impl(http::verb method, beast::string_view method_text, beast::string_view target,
                       int version, error_code&) override {
    request_.method_text = view_of(method_text);
    request_.method = method == http::verb::get    ? HttpRequest::Method::get
                      : method == http::verb::head ? HttpRequest::Method::head
                      : method == http::verb::post ? HttpRequest::Method::post
                                                   : HttpRequest::Method::other;
    request_.is_version_1_0 = version < 11;
    const std::string_view text = without_server(view_of(target));
    const std::size_t end = std::min(text.find('?'), text.size());
    request_.path = end == 0 ? "/" : text.substr(0, end);
    request_.query = text.substr(std::min(end + 1, text.size()));
  }

  void on_field_impl(http::field name, beast::string_view name_text, beast::string_view value,
                     error_code& error) override {
    // Behind a body in chunks, where whoever checked the header has not looked.
    if (is_header_done()) return;
    // One that is folded over several lines Beast puts together elsewhere. RFC 9112 lets servers refuse it.
    if (!value.empty() && (value.data() < input_.data() || value.data() >= input_.data() + input_.size())) {
      error = http::error::bad_value;
      return;
    }
    const std::string_view text = view_of(value);
    // Beast ignores others, and would take the body for the next request.
    if (name == http::field::transfer_encoding && !equals_ignoring_case(text, "chunked")) {
      error = http::error::bad_transfer_encoding;
      return;
    }
    if (name == http::field::host) ++hosts_;
    if (name == http::field::authorization) request_.authorization = text;
    if (name == http::field::content_type) request_.content_type = text;
    if (name == http::field::expect) request_.expects_continue = equals_ignoring_case(text, "100-continue");
    // Of an image, say, on a page of another site. What the address bar asks for has no site.
    if (name == http::field::unknown && equals_ignoring_case(view_of(name_text), "sec-fetch-site"))
      request_.is_from_other_site = text == "cross-site";
  }

  void on_response_impl(int, beast::string_view, int, error_code&) override {}
  void on_header_impl(error_code& error) override {
    // RFC 9112 wants both refused: two might be understood in two ways.
    is_server_named_ = hosts_ == 1 || (hosts_ == 0 && request_.is_version_1_0);
    if (!is_server_named_) error = http::error::bad_field;
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(beast::string_view text, error_code&) override {
    request_.body.append(text.data(), text.size());
    return text.size();
  }
  void on_chunk_header_impl(std::uint64_t, beast::string_view, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, beast::string_view text, error_code&) override {
    request_.body.append(text.data(), text.size());
    return text.size();
  }
  void on_finish_impl(error_code&) override {}

  HttpRequest& request_;
  const std::string_view input_;
  int hosts_ = 0;
  bool is_server_named_ = true;
};

HttpRequest::Parsed wrong(HttpRequest& request, unsigned status, const char* mistake) {
  request.status = status;
  request.mistake = mistake;
  return HttpRequest::Parsed::wrong;
}

HttpRequest::Parsed wrong(HttpRequest& request, const error_code& error) {
  if (error == http::error::header_limit) return wrong(request, 431, "the header is too long");
  if (error == http::error::body_limit) return wrong(request, 413, "the body is too long");
  if (error == http::error::bad_version)
    return wrong(request, 505, "only HTTP/1.0 and HTTP/1.1 are supported");
  request.status = 400;
  request.mistake = "invalid request: " + error.message();
  return HttpRequest::Parsed::wrong;
}

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

HttpRequest::Parsed HttpRequest::parse(std::string_view input) {
  const std::string_view whole = input;
  *this = HttpRequest();
  // Some put a line end behind a body.
  while (input.starts_with("\r\n")) input.remove_prefix(2);
  if (input.empty()) return Parsed::incomplete;
  // Anything else than a method, such as the greeting of TLS, would be waited for to its end.
  const char first = input.front();
  if (first < 'A' || first > 'Z')
    return wrong(*this, 400, first == '\x16' ? "this address does not use TLS" : "invalid request");
  // What does not end is not read again and again.
  const std::size_t head_end = input.substr(0, max_head + 4).find("\r\n\r\n");
  if (head_end == std::string_view::npos) {
    if (input.size() > max_head) return wrong(*this, 431, "the header is too long");
    return Parsed::incomplete;
  }
  Parser parser(*this, input);
  error_code error;
  std::size_t used = 0;
  // Beast stops at times before it has used all that it could.
  do {
    const std::size_t more =
        parser.put(boost::asio::const_buffer(input.data() + used, input.size() - used), error);
    used += more;
    if (more == 0) break;
  } while (!error && !parser.is_done() && used < input.size());
  if (!parser.is_server_named()) return wrong(*this, 400, "a request has one header 'Host'");
  if (error && error != http::error::need_more) return wrong(*this, error);
  size = whole.size() - input.size() + used;
  if (!parser.is_done())
    return input.size() > max_size ? wrong(*this, 413, "the body is too long") : Parsed::incomplete;
  keep_alive = parser.keep_alive();
  return Parsed::complete;
}

std::optional<std::string> decode_url_text(std::string_view text, bool is_query) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && is_query) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  if (decoded.find('\0') != std::string::npos || !leaf::detail::is_utf8(decoded)) return std::nullopt;
  return decoded;
}

std::optional<std::string_view> query_parameter(std::string_view query, std::string_view name) noexcept {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = std::min(pair.find('='), pair.size());
    if (pair.substr(0, equals) == name) return pair.substr(std::min(equals + 1, pair.size()));
  }
  return std::nullopt;
}

std::optional<std::string> HttpRequest::parameter(std::string_view name) const {
  auto text = query_parameter(query, name);
  constexpr std::string_view form = "application/x-www-form-urlencoded";
  if (!text && equals_ignoring_case(content_type.substr(0, form.size()), form))
    text = query_parameter(body, name);
  if (!text) return std::nullopt;
  return decode_url_text(*text, true).value_or("%");
}

}  // namespace leafctl::serve
