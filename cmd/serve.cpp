#include "serve/serve.hpp"

#include <fmt/format.h>

#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "cli/declaration.hpp"
#include "commands.hpp"
#include "ids/decoded_record.hpp"
#include "leaf/detail/module.hpp"
#include "leaf/error.hpp"
#include "leaf/version.hpp"
#include "overview/overview.hpp"
#include "tags/granted_marks.hpp"
#include "text/hint.hpp"
#include "workers/worker_request.hpp"

namespace leafctl {

namespace {

using std::chrono::milliseconds;

constexpr std::int64_t usual_max_connections = 10'000;
constexpr std::int64_t usual_max_count = 10'000;

const serve::Module& load_module() {
  const auto* const module = static_cast<const serve::Module*>(
      leaf::detail::module_symbol("serve", "the server", serve::module_symbol));
  if (module == nullptr)
    throw leaf::Error(leaf::ErrorCode::usage, "the server is not installed",
                      "install the package 'leafctl-serve'; in the source, 'scripts/package' builds it"_hint);
  if (std::string_view(module->built_with) != LEAF_VERSION)
    throw leaf::Error(leaf::ErrorCode::usage,
                      fmt::format("the installed server is not version {}", LEAF_VERSION),
                      "install the same version of leafctl and leafctl-serve"_hint);
  return *module;
}

class Serve : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Serves IDs over HTTP, compatible with Leaf and tinyid, and over Redis' protocol. The server draws "
        "from "
        "this host's buffer, like 'leafctl next': both continue one sequence. SIGTERM finishes pending "
        "requests "
        "and stops the server; SIGHUP reloads tokens and certificates and reopens the access log.");
    command.add_texts_option("--http", "ADDRESS", http_,
                             "listen for HTTP on HOST:PORT, [ADDRESS]:PORT or unix:PATH; may be repeated");
    command.add_texts_option("--redis", "ADDRESS", redis_,
                             "listen for Redis' protocol on such an address; may be repeated");
    command.add_text_option("--token-file", "FILE", token_file_,
                            "require one of the tokens in this file (default: none)");
    command.add_text_option("--tls-certificate", "FILE", certificate_file_,
                            "use TLS on all addresses except unix:PATH, with this certificate (PEM)");
    command.add_text_option("--tls-key", "FILE", key_file_, "private key of the certificate (PEM)");
    command.add_text_option("--access-log", "FILE", access_log_,
                            "log each request as a line of JSON; - for standard output (default: none)");
    command.add_integer_option("--threads", "N", threads_, {1, 64},
                               "threads that answer requests, 1 to 64 (default: 1)");
    command.add_integer_option("--coalesce", "MICROSECONDS", coalesce_, {0, 1000},
                               "pause between polls for requests, 0 to 1000, so that fewer wake the server "
                               "(default: 0)");
    command.add_integer_option("--max-connections", "N", max_connections_, {1, 1'000'000},
                               "maximum number of open connections, 1 to 1000000 (default: 10000)");
    command.add_integer_option("--max-count", "N", max_count_, {1, 1'000'000},
                               "maximum number of IDs in one request, 1 to 1000000 (default: 10000)");
    command.add_text_option("--idle-timeout", "DURATION", idle_timeout_,
                            "close connections that are idle for this long (default: 5m)");
    command.add_text_option("--request-timeout", "DURATION", request_timeout_,
                            "time to receive a request, or to send its answer (default: 10s)");
    command.add_examples(
        "Without --http and --redis, the server uses the sockets 'http' and 'redis' that\n"
        "systemd passes to it, or else listens on 127.0.0.1:8080 for HTTP. It prints its\n"
        "addresses to standard error; port 0 is any free port.\n\n"
        "Each line of a token file is a token, optionally followed by the tags that it\n"
        "may draw from; @snowflake stands for snowflake IDs. HTTP clients send\n"
        "'Authorization: Bearer TOKEN', Redis clients AUTH. While the store is down, the\n"
        "server answers from the buffer; once that is empty, a request waits up to\n"
        "--timeout for the store, then fails with status 503.\n\n"
        "Examples:\n"
        "  leafctl serve\n"
        "  leafctl serve --http 127.0.0.1:8080 --redis unix:/run/leafctl-serve/redis.sock\n"
        "  curl http://127.0.0.1:8080/v1/tags/order/next?n=10\n"
        "  curl http://127.0.0.1:8080/api/segment/get/order\n"
        "  redis-cli -p 6380 incr order");
  }

  std::vector<std::string_view> setting_keys() const override {
    std::vector<std::string_view> keys{"layout",   "worker_name",  "worker_id",    "window",
                                       "max_skew", "max_backward", "recycle_after"};
    keys.insert(keys.end(), host_setting_keys.begin(), host_setting_keys.end());
    return keys;
  }

  void run(Session& session) override {
    check_usage();
    warn_of_missing_marks(session);
    const serve::Module& module = load_module();
    StoreOverview overview(session);
    std::mutex messages;
    serve::Options options = options_of(session);
    options.overview = {
        .metrics = [&overview] { return overview.metrics(); },
        .status = [&overview] { return overview.status(); },
        .cache_page = [&overview] { return overview.cache_page(); },
        .store_page = [&overview] { return overview.store_page(); },
        .decode =
            [](const leaf::Layout& layout, std::int64_t id) {
              std::string json;
              DecodedRecord(layout).append_json(id, json);
              return json;
            },
    };
    options.inform = [&](std::string_view text) {
      const std::lock_guard lock(messages);
      session.messages.info(text);
    };
    options.warn = [&](std::string_view text, std::string_view hint) {
      const std::lock_guard lock(messages);
      session.messages.warning(text, hint);
    };
    module.run(std::move(options));
  }

 private:
  void check_usage() const {
    if (certificate_file_.has_value() == key_file_.has_value()) return;
    throw leaf::Error(leaf::ErrorCode::usage,
                      fmt::format("'{}' is missing", key_file_ ? "--tls-certificate" : "--tls-key"));
  }

  serve::Options options_of(const Session& session) const {
    const Settings& settings = session.settings();
    auto host = session.host();
    // What it fetches, it fetches itself.
    if (host) host->fetch_ahead = true;
    serve::Options options;
    options.http = http_;
    options.redis = redis_;
    options.token_file = token_file_.value_or("");
    options.certificate_file = certificate_file_.value_or("");
    options.key_file = key_file_.value_or("");
    options.access_log = access_log_.value_or("");
    options.threads = static_cast<int>(threads_.value_or(1));
    options.coalesce = std::chrono::microseconds(coalesce_.value_or(0));
    options.max_connections = max_connections_.value_or(usual_max_connections);
    options.max_count = max_count_.value_or(usual_max_count);
    options.idle_timeout = duration("--idle-timeout", idle_timeout_, std::chrono::minutes(5));
    options.request_timeout = duration("--request-timeout", request_timeout_, std::chrono::seconds(10));
    options.store = session.store_options();
    options.segments = {.timeout = settings.timeout, .host = host};
    options.snowflakes = {.worker = worker_request(settings),
                          .max_backward = settings.max_backward,
                          .timeout = settings.timeout,
                          .host = host};
    return options;
  }

  static milliseconds duration(std::string_view option, const std::optional<std::string>& text,
                               milliseconds usual) {
    return text ? parse_duration(option, *text, {milliseconds(10), std::chrono::hours(24)}) : usual;
  }

  std::vector<std::string> http_;
  std::vector<std::string> redis_;
  std::optional<std::string> token_file_;
  std::optional<std::string> certificate_file_;
  std::optional<std::string> key_file_;
  std::optional<std::string> access_log_;
  std::optional<std::int64_t> threads_;
  std::optional<std::int64_t> coalesce_;
  std::optional<std::int64_t> max_connections_;
  std::optional<std::int64_t> max_count_;
  std::optional<std::string> idle_timeout_;
  std::optional<std::string> request_timeout_;
};

}  // namespace

std::unique_ptr<Command> make_serve() {
  return std::make_unique<Serve>();
}

}  // namespace leafctl
