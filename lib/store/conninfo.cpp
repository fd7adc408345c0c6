#include "store/conninfo.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace leaf::store {

namespace {

constexpr auto npos = std::string_view::npos;

/// What libpq knows up to version 19, in order.
constexpr auto keywords = std::to_array<std::string_view>({
    "application_name",
    "channel_binding",
    "client_encoding",
    "connect_timeout",
    "dbname",
    "fallback_application_name",
    "gssdelegation",
    "gssencmode",
    "gsslib",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "krbsrvname",
    "load_balance_hosts",
    "max_protocol_version",
    "min_protocol_version",
    "oauth_client_id",
    "oauth_client_secret",
    "oauth_issuer",
    "oauth_scope",
    "options",
    "passfile",
    "password",
    "port",
    "replication",
    "require_auth",
    "requirepeer",
    "scram_client_key",
    "scram_server_key",
    "service",
    "servicefile",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslcert",
    "sslcertmode",
    "sslcompression",
    "sslcrl",
    "sslcrldir",
    "sslkey",
    "sslkeylogfile",
    "sslmode",
    "sslnegotiation",
    "sslpassword",
    "sslrootcert",
    "sslsni",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
});
static_assert(std::ranges::is_sorted(keywords));

constexpr const char* bad_encoding = "a '%' is not followed by two hexadecimal digits, or they are 00";
constexpr const char* unknown_keyword = "there is a keyword that libpq does not know";
constexpr const char* no_sign = "a keyword is not followed by '='";
constexpr const char* many_signs = "there is more than one '=' in a parameter";
constexpr const char* open_quote = "a quote is not closed";
constexpr const char* bad_address = "an address in brackets is empty, or not closed, or more follows it";
constexpr const char* null_byte = "there is a null byte";

/// As libpq sees it where the program has set no locale.
bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

std::size_t skip_spaces(std::string_view text, std::size_t position) {
  while (position < text.size() && is_space(text[position])) ++position;
  return position;
}

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  return std::nullopt;
}

std::optional<std::string> decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const auto high = i + 1 < text.size() ? hex_digit(text[i + 1]) : std::nullopt;
    const auto low = i + 2 < text.size() ? hex_digit(text[i + 2]) : std::nullopt;
    if (!high || !low || (*high == 0 && *low == 0)) return std::nullopt;
    decoded += static_cast<char>(*high << 4 | *low);
    i += 2;
  }
  return decoded;
}

/// Collects what is found; the first trouble counts.
class Collector {
 public:
  explicit Collector(std::string_view text) : text_(text) { found_.end = text.size(); }

  /// A parameter as libpq stores it, once it is decoded.
  void add(Parameter parameter) {
    if (parameter.keyword == "requiressl") {
      parameter.keyword = "sslmode";
      parameter.value = parameter.value.starts_with('1') ? "require" : "prefer";
    }
    if (!std::ranges::binary_search(keywords, parameter.keyword)) refuse(parameter, unknown_keyword);
    found_.parameters.push_back(std::move(parameter));
  }

  /// A part of a URI with a keyword that is not written there.
  void add_part(const char* keyword, const std::string& encoded, std::size_t offset, std::size_t length) {
    if (encoded.empty()) return;
    Parameter parameter{
        .keyword = keyword, .value = encoded, .begin = offset, .offset = offset, .length = length};
    if (auto decoded = decode(encoded)) {
      parameter.value = std::move(*decoded);
    } else {
      refuse(parameter, bad_encoding);
    }
    found_.parameters.push_back(std::move(parameter));
  }
  void add_part(const char* keyword, std::size_t begin, std::size_t end) {
    add_part(keyword, std::string(text_.substr(begin, end - begin)), begin, end - begin);
  }

  void add_refused(Parameter parameter, const char* trouble) {
    refuse(parameter, trouble);
    found_.parameters.push_back(std::move(parameter));
  }

  Conninfo stop(std::size_t end, const char* trouble) {
    note(trouble);
    found_.end = end;
    return std::move(found_);
  }
  Conninfo finish() { return std::move(found_); }

 private:
  void refuse(Parameter& parameter, const char* trouble) {
    parameter.is_accepted = false;
    note(trouble);
  }
  void note(const char* trouble) {
    if (found_.trouble == nullptr) found_.trouble = trouble;
  }

  std::string_view text_;
  Conninfo found_;
};

/// One `keyword=value` of a URI's query, at [begin, end).
void take_query_parameter(std::string_view uri, std::size_t begin, std::size_t end, Collector& collector) {
  const std::string_view text = uri.substr(begin, end - begin);
  const auto sign = text.find('=');
  if (sign == npos) {
    collector.add_refused(
        {.keyword = "", .value = std::string(text), .begin = begin, .offset = begin, .length = text.size()},
        no_sign);
    return;
  }
  const std::string_view written = text.substr(sign + 1);
  Parameter parameter{.keyword = std::string(text.substr(0, sign)),
                      .value = std::string(written),
                      .begin = begin,
                      .offset = begin + sign + 1,
                      .length = written.size()};
  auto keyword = decode(parameter.keyword);
  auto value = decode(written);
  if (keyword) parameter.keyword = std::move(*keyword);
  if (value) parameter.value = std::move(*value);
  if (written.find('=') != npos) {
    collector.add_refused(std::move(parameter), many_signs);
  } else if (!keyword || !value) {
    collector.add_refused(std::move(parameter), bad_encoding);
  } else {
    if (parameter.keyword == "ssl" && parameter.value == "true") {  // as in JDBC
      parameter.keyword = "sslmode";
      parameter.value = "require";
    }
    collector.add(std::move(parameter));
  }
}

/// A URI's `host[:port],...`, from `position` on.
struct Hosts {
  std::string hosts;
  std::string ports;
  std::size_t hosts_end = 0;
  std::size_t ports_begin = npos;
  std::size_t end = 0;
};

/// None where an address is not as it must be.
std::optional<Hosts> take_hosts(std::string_view uri, std::size_t position) {
  const auto end_of = [&](const char* signs) {
    return std::min(uri.find_first_of(signs, position), uri.size());
  };
  Hosts found;
  for (;;) {
    if (position < uri.size() && uri[position] == '[') {
      const auto close = uri.find(']', position);
      if (close == npos || close == position + 1) return std::nullopt;
      found.hosts += uri.substr(position + 1, close - position - 1);
      position = close + 1;
      if (end_of(":/?,") != position) return std::nullopt;
    } else {
      const auto end = end_of(":/?,");
      found.hosts += uri.substr(position, end - position);
      position = end;
    }
    found.hosts_end = position;
    if (position < uri.size() && uri[position] == ':') {
      ++position;
      found.ports_begin = std::min(found.ports_begin, position);
      const auto end = end_of("/?,");
      found.ports += uri.substr(position, end - position);
      position = end;
    }
    found.end = position;
    if (position == uri.size() || uri[position] != ',') return found;
    ++position;
    found.hosts += ',';
    found.ports += ',';
  }
}

Conninfo take_apart_uri(std::string_view uri) {
  Collector collector(uri);
  const auto begin = uri_prefix_length(uri);
  auto position = userinfo_end(uri);
  if (position > begin) {
    const auto user_end = uri.find_first_of(":@", begin);
    collector.add_part("user", begin, user_end);
    if (user_end + 1 < position) collector.add_part("password", user_end + 1, position - 1);
  }

  const auto hosts = take_hosts(uri, position);
  if (!hosts) return collector.stop(position, bad_address);
  collector.add_part("host", hosts->hosts, position, hosts->hosts_end - position);
  const auto ports_begin = std::min(hosts->ports_begin, hosts->end);
  collector.add_part("port", hosts->ports, ports_begin, hosts->end - ports_begin);
  position = hosts->end;

  if (position < uri.size() && uri[position] == '/') {
    const auto end = std::min(uri.find('?', position), uri.size());
    collector.add_part("dbname", position + 1, end);
    position = end;
  }
  for (++position; position < uri.size(); ++position) {
    const auto end = std::min(uri.find('&', position), uri.size());
    take_query_parameter(uri, position, end, collector);
    position = end;
  }
  return collector.finish();
}

/// A value at `position`, which is moved behind it; none where a quote is not closed.
std::optional<std::string> take_value(std::string_view text, std::size_t& position) {
  const bool is_quoted = position < text.size() && text[position] == '\'';
  if (is_quoted) ++position;
  std::string value;
  for (; position < text.size(); ++position) {
    if (is_quoted ? text[position] == '\'' : is_space(text[position])) break;
    if (text[position] == '\\' && ++position == text.size()) break;
    value += text[position];
  }
  if (!is_quoted) return value;
  if (position == text.size()) return std::nullopt;
  ++position;
  return value;
}

Conninfo take_apart_pairs(std::string_view text) {
  Collector collector(text);
  for (auto position = skip_spaces(text, 0); position < text.size();) {
    const auto begin = position;
    while (position < text.size() && text[position] != '=' && !is_space(text[position])) ++position;
    const std::string_view keyword = text.substr(begin, position - begin);
    position = skip_spaces(text, position);
    if (position == text.size() || text[position] != '=') return collector.stop(begin, no_sign);
    position = skip_spaces(text, position + 1);
    Parameter parameter{.keyword = std::string(keyword), .value = {}, .begin = begin, .offset = position};
    auto value = take_value(text, position);
    parameter.length = position - parameter.offset;
    parameter.value = value ? std::move(*value) : std::string(text.substr(parameter.offset));
    if (value) {
      collector.add(std::move(parameter));
    } else {
      collector.add_refused(std::move(parameter), open_quote);
    }
    position = skip_spaces(text, position);
  }
  return collector.finish();
}

}  // namespace

std::size_t uri_prefix_length(std::string_view text) {
  for (const std::string_view prefix : {"postgresql://", "postgres://"}) {
    if (text.starts_with(prefix)) return prefix.size();
  }
  return 0;
}

std::size_t userinfo_end(std::string_view uri) {
  const auto begin = uri_prefix_length(uri);
  const auto end = uri.find_first_of("@/", begin);
  return end != npos && uri[end] == '@' ? end + 1 : begin;
}

Conninfo take_apart(std::string_view text) {
  // libpq would see the part before it.
  if (const auto null = text.find('\0'); null != npos) {
    Conninfo before = take_apart(text.substr(0, null));
    before.end = std::min(before.end, null);
    before.trouble = null_byte;
    return before;
  }
  return uri_prefix_length(text) > 0 ? take_apart_uri(text) : take_apart_pairs(text);
}

std::optional<std::vector<Parameter>> parse_conninfo(std::string_view text) {
  Conninfo conninfo = take_apart(text);
  if (conninfo.trouble != nullptr) return std::nullopt;
  return std::move(conninfo.parameters);
}

}  // namespace leaf::store
