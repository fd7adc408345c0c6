#include "serve/http_request.hpp"

#include <doctest/doctest.h>

#include <string>

namespace {

using leafctl::serve::decode_url_text;
using leafctl::serve::HttpRequest;
using leafctl::serve::query_parameter;
using Parsed = HttpRequest::Parsed;

/// The status that answers `input`.
unsigned status_of(const std::string& input) {
  HttpRequest request;
  CHECK(request.parse(input) == Parsed::wrong);
  CHECK(!request.mistake.empty());
  return request.status;
}

}  // namespace

TEST_CASE("http: a request is read with its size, and what follows it is left") {
  HttpRequest request;
  const std::string input =
      "GET /v1/tags/order/next?n=10&form=ids HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer secret\r\n\r\n";
  const std::string both = input + "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  REQUIRE(request.parse(both) == Parsed::complete);
  CHECK(request.method == HttpRequest::Method::get);
  CHECK(request.path == "/v1/tags/order/next");
  CHECK(request.query == "n=10&form=ids");
  CHECK(request.authorization == "Bearer secret");
  CHECK(request.keep_alive);
  CHECK(request.size == input.size());
}

TEST_CASE("http: a request that is cut anywhere is incomplete") {
  const std::string requests[] = {
      "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nn=10",
      "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nn=10\r\n0\r\n\r\n"};
  for (const std::string& whole : requests) {
    HttpRequest request;
    for (std::size_t size = 0; size < whole.size(); ++size) {
      CAPTURE(whole.substr(0, size));
      CHECK(request.parse(std::string_view(whole).substr(0, size)) == Parsed::incomplete);
    }
    CHECK(request.parse(whole) == Parsed::complete);
    CHECK(request.size == whole.size());
    CHECK(request.body == (whole.starts_with("GET") ? "" : "n=10"));
  }
}

TEST_CASE("http: connections stay open as of the version") {
  HttpRequest request;
  REQUIRE(request.parse("GET / HTTP/1.0\r\n\r\n") == Parsed::complete);
  CHECK_FALSE(request.keep_alive);
  CHECK(request.is_version_1_0);
  REQUIRE(request.parse("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n") == Parsed::complete);
  CHECK(request.keep_alive);
  REQUIRE(request.parse("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n") == Parsed::complete);
  CHECK_FALSE(request.keep_alive);
}

TEST_CASE("http: a target may name the server as well, as proxies are asked") {
  HttpRequest request;
  REQUIRE(request.parse("GET http://a:80/v1/tags/order/next?n=10 HTTP/1.1\r\nHost: a:80\r\n\r\n") ==
          Parsed::complete);
  CHECK(request.path == "/v1/tags/order/next");
  CHECK(request.query == "n=10");
  REQUIRE(request.parse("GET HTTPS://a HTTP/1.1\r\nHost: a\r\n\r\n") == Parsed::complete);
  CHECK(request.path == "/");
  CHECK(request.query.empty());
  REQUIRE(request.parse("GET http://a?n=1 HTTP/1.1\r\nHost: a\r\n\r\n") == Parsed::complete);
  CHECK(request.path == "/");
  CHECK(request.query == "n=1");
  REQUIRE(request.parse("GET /http://a/b HTTP/1.1\r\nHost: a\r\n\r\n") == Parsed::complete);
  CHECK(request.path == "/http://a/b");
}

TEST_CASE("http: what follows a body in chunks changes nothing that was said before it") {
  HttpRequest request;
  const std::string input =
      "POST / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer a\r\nTransfer-Encoding: chunked\r\n\r\n"
      "1\r\na\r\n0\r\nAuthorization: Bearer b\r\nSec-Fetch-Site: none\r\n\r\n";
  REQUIRE(request.parse(input) == Parsed::complete);
  CHECK(request.authorization == "Bearer a");
}

TEST_CASE("http: nothing is kept of a request before") {
  HttpRequest request;
  REQUIRE(request.parse("POST /a?b HTTP/1.1\r\nHost: a\r\nAuthorization: x\r\nContent-Length: 1\r\n\r\nc") ==
          Parsed::complete);
  REQUIRE(request.parse("GET / HTTP/1.1\r\nHost: a\r\n\r\n") == Parsed::complete);
  CHECK(request.authorization.empty());
  CHECK(request.query.empty());
  CHECK(request.body.empty());
}

TEST_CASE("http: whoever waits for leave to send a body is known") {
  HttpRequest request;
  CHECK(request.parse("POST /a HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n") ==
        Parsed::incomplete);
  CHECK(request.expects_continue);
}

TEST_CASE("http: what is no request is refused before more of it is waited for") {
  CHECK(status_of("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") == 505);
  CHECK(status_of("GET / HTTP/9.9\r\n\r\n") == 505);
  CHECK(status_of("\x16\x03\x01") == 400);
  CHECK(status_of("*1\r\n") == 400);
  CHECK(status_of("GET /\r\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n") == 400);
  CHECK(status_of("GET / HTTP/1.1\r\nA: " + std::string(HttpRequest::max_head, 'a')) == 431);
  CHECK(status_of("GET / HTTP/1.1\r\nA: " + std::string(HttpRequest::max_head, 'a') + "\r\n\r\n") == 431);
  CHECK(status_of("GET / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer\r\n folded\r\n\r\n") == 400);
  CHECK(status_of("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10000000\r\n\r\n") == 413);
  CHECK(status_of("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 16385\r\n\r\n") == 413);
  CHECK(status_of("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n") == 400);
  CHECK(status_of("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab") == 400);
  CHECK(
      status_of(
          "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") ==
      400);
  // Where such a body ends nobody can tell: what is in it would be the next request.
  for (const char* const coding : {"gzip", "chunked, gzip", "gzip, chunked", "identity", "xchunked", ""}) {
    CAPTURE(coding);
    CHECK(status_of("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: " + std::string(coding) +
                    "\r\n\r\nGET / ") == 400);
  }
  CHECK(status_of("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n") == 400);
  std::string chunks = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 9000; ++i) chunks += "1;" + std::string(8, 'e') + "\r\na\r\n";
  CHECK(status_of(chunks) == 413);
}

TEST_CASE("http: a page of another site is told from others") {
  HttpRequest request;
  REQUIRE(request.parse("GET / HTTP/1.1\r\nHost: a\r\nSec-Fetch-Site: cross-site\r\n\r\n") ==
          Parsed::complete);
  CHECK(request.is_from_other_site);
  REQUIRE(request.parse("GET / HTTP/1.1\r\nHost: a\r\nSec-Fetch-Site: none\r\n\r\n") == Parsed::complete);
  CHECK_FALSE(request.is_from_other_site);
}

TEST_CASE("http: escapes of URLs are resolved, and what is none is refused") {
  CHECK(decode_url_text("a%3ab+c", false) == "a:b+c");
  CHECK(decode_url_text("a+b%20c", true) == "a b c");
  CHECK(decode_url_text("%e2%82%ac", false) == "€");
  for (const char* const text : {"%", "%4", "%zz", "%00", "%ff", "%c0%80", "%ed%a0%80", "\xff"}) {
    CAPTURE(text);
    CHECK_FALSE(decode_url_text(text, false).has_value());
  }
}

TEST_CASE("http: parameters of a query are found by their whole names") {
  CHECK(query_parameter("n=1&form=ids", "n") == "1");
  CHECK(query_parameter("n=1&form=ids", "form") == "ids");
  CHECK(query_parameter("xn=1&n=&n=2", "n") == "");
  CHECK(query_parameter("n", "n") == "");
  CHECK_FALSE(query_parameter("nn=1", "n").has_value());
  CHECK_FALSE(query_parameter("", "n").has_value());
}

TEST_CASE("http: a parameter that cannot be decoded is there, and is nothing that it may be") {
  HttpRequest request;
  for (const char* text : {"%", "2%", "%ff", "%00", "%zz"}) {
    const std::string input = "GET /v1/bounds?to=" + std::string(text) + " HTTP/1.1\r\nHost: a\r\n\r\n";
    REQUIRE(request.parse(input) == Parsed::complete);
    CHECK(request.parameter("to") == "%");
    CHECK(!request.parameter("from"));
  }
}
