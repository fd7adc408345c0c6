#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "leaf/layout.hpp"
#include "leaf/segment.hpp"
#include "leaf/snowflake.hpp"
#include "leaf/store.hpp"

/// `leafctl serve` is a module, which the command loads, so that no other command pays for it. It draws by
/// itself; what it shows of store and host the command makes.
namespace leafctl::serve {

/// What is shown of the store and this host, as whole documents. Called from several threads at once; may
/// take as long as the store does. Throws leaf::Error.
struct Overview {
  std::function<std::string()> metrics;                                     ///< for Prometheus
  std::function<std::string()> status;                                      ///< JSON
  std::function<std::string()> cache_page;                                  ///< HTML, as Leaf's /cache
  std::function<std::string()> store_page;                                  ///< HTML, as Leaf's /db
  std::function<std::string(const leaf::Layout&, std::int64_t id)> decode;  ///< JSON
};

struct Options {
  std::vector<std::string> http;   ///< addresses to listen at
  std::vector<std::string> redis;  ///< likewise
  std::string token_file;          ///< empty: none, and everybody may draw
  std::string certificate_file;    ///< empty: no TLS
  std::string key_file;
  std::string access_log;  ///< a file, - for standard output, or empty
  int threads = 1;
  std::chrono::microseconds coalesce{};  ///< between looks for requests while they come; 0: woken by each
  std::int64_t max_connections = 0;
  std::int64_t max_count = 0;  ///< IDs for one request
  std::chrono::milliseconds idle_timeout{};
  std::chrono::milliseconds request_timeout{};  ///< for a request to arrive, and its answer to be taken

  leaf::StoreOptions store;
  leaf::SegmentOptions segments;
  leaf::SnowflakeOptions snowflakes;
  Overview overview;
  /// What a person who looks after the server is told.
  std::function<void(std::string_view)> inform;
  std::function<void(std::string_view text, std::string_view hint)> warn;
};

/// What the module offers under `module_symbol`.
struct Module {
  const char* built_with;  ///< the version, whose insides it knows
  /// Serves until a signal asks it to end. Throws leaf::Error where it cannot begin.
  void (*run)(Options options);
};
inline constexpr const char* module_symbol = "leafctl_serve_module";

}  // namespace leafctl::serve
