#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "leaf/error.hpp"
#include "serve/address.hpp"
#include "serve/http_response.hpp"
#include "serve/id_ranges.hpp"
#include "serve/json_text.hpp"
#include "serve/listener.hpp"
#include "serve/statistics.hpp"
#include "serve/tokens.hpp"
#include "support/error_of.hpp"
#include "support/refuse_each.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace leafctl::serve;

std::string json_of(std::string_view text) {
  std::string json;
  append_json(text, json);
  return json;
}

/// A token file of that content, for its owner alone.
std::string file_of(const leaf::test::TemporaryFolder& folder, const std::string& content,
                    mode_t mode = 0600) {
  const std::string file = (folder.path() / "tokens").string();
  std::ofstream(file) << content;
  REQUIRE(chmod(file.c_str(), mode) == 0);
  return file;
}

}  // namespace

TEST_CASE("addresses are a host with a port, or a path") {
  CHECK(parse_address("--http", "127.0.0.1:8080").port == 8080);
  CHECK(parse_address("--http", "[::1]:0").host == "::1");
  CHECK(parse_address("--http", "[::1]:0").text() == "[::1]:0");
  CHECK(parse_address("--http", "localhost:80").text() == "localhost:80");
  CHECK(parse_address("--http", "unix:/run/a.sock").path == "/run/a.sock");
  const std::string wrong[] = {"",        "8080", ":8080", "::1:80", "a:",
                               "a:65536", "a:-1", "a:8x",  "unix:",  "unix:" + std::string(108, 'a')};
  for (const std::string& text : wrong) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_address("--http", text), leaf::Error);
  }
}

TEST_CASE("a listener that ends leaves the socket of another one in its place") {
  const leaf::test::TemporaryFolder folder;
  const std::string path = (folder.path() / "socket").string();
  const Address address = parse_address("--http", "unix:" + path);
  boost::asio::io_context context;
  auto first = std::make_unique<Listener>(context, Protocol::http, address);
  std::filesystem::remove(path);
  auto second = std::make_unique<Listener>(context, Protocol::http, address);
  first.reset();
  CHECK(std::filesystem::exists(path));
  second.reset();
  CHECK(!std::filesystem::exists(path));
}

TEST_CASE("a listener takes the place of a socket that was left behind, and of nothing else") {
  const leaf::test::TemporaryFolder folder;
  const std::string path = (folder.path() / "socket").string();
  const Address address = parse_address("--http", "unix:" + path);
  boost::asio::io_context context;
  const auto failure = [&](const Address& place) {
    return leaf::test::error_text([&] { Listener(context, Protocol::http, place); });
  };
  {
    const Listener listens(context, Protocol::http, address);
    CHECK(listens.shown() == "unix:" + path);
    CHECK_FALSE(listens.is_public());
    CHECK(failure(address) == "cannot listen on 'unix:" + path + "': Address already in use | ");
    // As a server that was killed leaves it.
    std::filesystem::create_hard_link(path, path + ".left");
  }
  std::filesystem::rename(path + ".left", path);
  CHECK_NOTHROW(Listener(context, Protocol::http, address));
  std::ofstream(path) << "text";
  CHECK(failure(address) == "'" + path + "' exists and is not a socket | ");
  CHECK(std::filesystem::file_size(path) == 4);
  // As a program that logs to a socket has it.
  std::filesystem::remove(path);
  const int datagrams = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  path.copy(name.sun_path, sizeof name.sun_path - 1);
  REQUIRE(bind(datagrams, reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0);
  CHECK(failure(address) == "cannot listen on 'unix:" + path + "': Address already in use | ");
  CHECK(std::filesystem::exists(path));
  close(datagrams);
}

TEST_CASE("a listener at a port says where, whether others reach it, and what keeps it from there") {
  boost::asio::io_context context;
  const auto listener_at = [&](const std::string& text) {
    return std::make_unique<Listener>(context, Protocol::http, parse_address("--http", text));
  };
  const auto loopback = listener_at("127.0.0.1:0");
  CHECK(loopback->shown().starts_with("127.0.0.1:"));
  CHECK_FALSE(loopback->is_public());
  CHECK_FALSE(listener_at("127.1.2.3:0")->is_public());
  CHECK(listener_at("0.0.0.0:0")->is_public());
  CHECK(leaf::test::error_text([&] { listener_at(loopback->shown()); }) ==
        "cannot listen on '" + loopback->shown() + "': Address already in use | ");
  CHECK(leaf::test::error_code([&] { listener_at("no-such-host.invalid:0"); }) == leaf::ErrorCode::usage);
  std::ifstream addresses("/proc/net/if_inet6");
  const std::string all(std::istreambuf_iterator<char>(addresses), {});
  if (all.find("00000000000000000000000000000001 ") != std::string::npos) {
    CHECK(listener_at("[::1]:0")->shown().starts_with("[::1]:"));
    CHECK_FALSE(listener_at("[::1]:0")->is_public());
    CHECK(listener_at("[::]:0")->is_public());
  }
}

TEST_CASE("IDs are written as text, whatever digits change") {
  for (const leaf::Range range : {leaf::Range{0, 12}, {97, 103}, {999'999'998, 1'000'000'003}, {7, 8}}) {
    std::string wanted;
    for (std::int64_t id = range.lo; id < range.hi; ++id) wanted += "<" + std::to_string(id) + ">\n";
    std::string out;
    append_texts(IdRanges{range}, "<", ">\n", out);
    CHECK(out == wanted);
  }
  IdRanges ranges;
  append_range(ranges, {1, 3});
  append_range(ranges, {3, 4});
  append_range(ranges, {4, 4});
  append_range(ranges, {9, 10});
  CHECK(ranges == IdRanges{{1, 4}, {9, 10}});
  CHECK(count_of(ranges) == 4);
}

TEST_CASE("texts become JSON, whatever is in them") {
  CHECK(json_of("a\"b\\c\n") == R"("a\"b\\c\u000a")");
  CHECK(json_of("€") == "\"€\"");
  CHECK(json_of("a\xff") == R"("a\ufffd")");
}

TEST_CASE("a token is for the tags behind it, or for all") {
  const leaf::test::TemporaryFolder folder;
  const Tokens tokens =
      Tokens::read(file_of(folder, "# who draws\n\nfirst-token\nsecond-token order @snowflake\n"));
  REQUIRE(tokens.find("first-token") != nullptr);
  CHECK(tokens.find("first-token")->allows("any"));
  REQUIRE(tokens.find("second-token") != nullptr);
  CHECK(tokens.find("second-token")->allows("order"));
  CHECK(tokens.find("second-token")->allows(snowflake_right));
  CHECK_FALSE(tokens.find("second-token")->allows("invoice"));
  for (const char* const text : {"", "first-tokem", "first-token ", "order", "# who draws"}) {
    CAPTURE(text);
    CHECK(tokens.find(text) == nullptr);
  }
}

TEST_CASE("a token has no more rights where memory is lacking while its file is read") {
  const leaf::test::TemporaryFolder folder;
  const std::string file = file_of(folder, "one-token\nanother-token a_tag_whose_name_is_long\n");
  bool is_for_all = false;
  const int allocations = leaf::test::refuse_each_allocation(
      [&] {
        const Tokens tokens = Tokens::read(file);
        const Token* const token = tokens.find("another-token");
        is_for_all = is_for_all || token == nullptr || token->allows("invoice");
      },
      [] {});
  CHECK(allocations > 5);
  CHECK_FALSE(is_for_all);
}

TEST_CASE("a token file that would let in anybody is refused") {
  const leaf::test::TemporaryFolder folder;
  CHECK_THROWS_AS(Tokens::read((folder.path() / "none").string()), leaf::Error);
  CHECK_THROWS_AS(Tokens::read(file_of(folder, "a-long-token\n", 0644)), leaf::Error);
  for (const char* const content :
       {"", "# nothing\n", "short\n", "a-long-token no/tag\n", "a-long-token\na-long-token x\n",
        "a-long-töken\n", "a-long-\x7ftoken\n", "a-long-\x1etoken\n", "seven77\n"}) {
    CAPTURE(content);
    CHECK_THROWS_AS(Tokens::read(file_of(folder, content)), leaf::Error);
  }
}

TEST_CASE("tokens are found in what HTTP calls authorization") {
  CHECK(token_in("Bearer secret-token") == "secret-token");
  CHECK(token_in("bearer secret-token") == "secret-token");
  CHECK(token_in("Basic dXNlcjpzZWNyZXQtdG9rZW4=") == "secret-token");
  for (const char* const text : {"", "Bearer", "Basic", "Basic !!", "Basic dXNlcg==", "Digest a"}) {
    CAPTURE(text);
    CHECK(token_in(text).empty());
  }
}

TEST_CASE("IDs are taken apart as Leaf does it") {
  setenv("TZ", "Asia/Shanghai", 1);
  tzset();
  const std::int64_t id = (1567733700834 - 1288834974657) << 22 | 39 << 12 | 3448;
  CHECK(
      leaf_decoded_json(std::to_string(id)) ==
      R"json({"timestamp":"1567733700834(2019-09-06 09:35:00.834)","sequenceId":"3448","workerId":"39"})json");
  CHECK(leaf_decoded_json("abc") == "{\"errorMsg\":\"snowflake Id反解析发生异常!\"}");
  CHECK(leaf_decoded_json("9223372036854775808").find("errorMsg") != std::string::npos);
}

TEST_CASE("statistics are sums over all threads, and each bucket holds those before it") {
  Statistics first, second;
  first.count_request(Protocol::http, Kind::segment, Outcome::ok);
  second.count_request(Protocol::http, Kind::segment, Outcome::ok);
  first.count_time(Protocol::redis, std::chrono::microseconds(20), 3);
  second.count_time(Protocol::redis, std::chrono::seconds(9), 1);
  first.count_opened(Protocol::http);
  second.count_opened(Protocol::http);
  first.count_closed(Protocol::http);
  const std::string text = Statistics::metrics({&first, &second});
  const auto has = [&](const std::string& line) { return text.find(line + "\n") != std::string::npos; };
  CHECK(has(R"(leafctl_serve_requests_total{protocol="http",kind="segment",outcome="ok"} 2)"));
  CHECK(has(R"(leafctl_serve_request_seconds_bucket{protocol="redis",le="1e-05"} 0)"));
  CHECK(has(R"(leafctl_serve_request_seconds_bucket{protocol="redis",le="2.5e-05"} 3)"));
  CHECK(has(R"(leafctl_serve_request_seconds_bucket{protocol="redis",le="5"} 3)"));
  CHECK(has(R"(leafctl_serve_request_seconds_bucket{protocol="redis",le="+Inf"} 4)"));
  CHECK(has(R"(leafctl_serve_connections{protocol="http"} 1)"));
  CHECK(has(R"(leafctl_serve_connections_total{protocol="http"} 2)"));
}
