#include "store/redaction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <optional>
#include <vector>

#include "store/conninfo.hpp"

namespace leaf::store {

namespace {

constexpr auto npos = std::string_view::npos;
constexpr std::string_view mask = "***";

constexpr const char* stray_at = "there is an '@' where libpq expects none";
constexpr const char* bad_port = "a port is not a number";
constexpr const char* stray_password = "a password is in another parameter";

/// A part of a connection string that is not shown.
struct Hidden {
  std::size_t begin = 0;
  std::size_t end = 0;
  const char* mistake = nullptr;  ///< why libpq may take it for something else than a secret, and quote it
};

bool is_alphanumeric(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool is_word(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return is_alphanumeric(c) || c == '_' || c == '-' || c == '%';
  });
}

/// As of hosts, ports and paths.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return is_alphanumeric(c) || static_cast<unsigned char>(c) >= 0x80 ||
           std::string_view("_-.,/~+").find(c) != npos;
  });
}

/// Where `pass...=` ends in `text`, in whatever letters; npos if there is none. `passfile=` is none.
std::size_t end_of_password_sign(std::string_view text) {
  const std::string lower = lower_case(text);
  for (auto found = lower.find("pass"); found != npos; found = lower.find("pass", found + 1)) {
    auto end = found;
    while (end < lower.size() && (is_alphanumeric(lower[end]) || lower[end] == '_')) ++end;
    if (lower.substr(found, end - found) == "passfile") continue;
    while (end < lower.size() && std::isspace(static_cast<unsigned char>(lower[end])) != 0) ++end;
    if (end < lower.size() && lower[end] == '=') return end + 1;
  }
  return npos;
}

/// Whether `value` holds a whole URL with a password; in a text that libpq refuses it may be cut off before
/// its '@'.
bool holds_url_with_password(std::string_view value, bool is_refused) {
  const auto scheme = value.find("://");
  const auto colon = scheme == npos ? npos : value.find(':', scheme + 3);
  return colon != npos && (is_refused || value.find('@', colon) != npos);
}

/// Numbers up to 65535, none or several with commas between.
bool is_port(std::string_view text) {
  while (!text.empty()) {
    const std::string_view number = text.substr(0, text.find(','));
    unsigned value = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    if (!number.empty() && (error != std::errc{} || end != number.data() + number.size() || value > 65535))
      return false;
    text.remove_prefix(std::min(number.size() + 1, text.size()));
  }
  return true;
}

/// What lies between the first ':' and the last '@' behind user and password but before `limit`.
std::optional<Hidden> before_stray_at(std::string_view uri, std::size_t limit) {
  const auto begin = uri_prefix_length(uri);
  const auto at = uri.substr(0, limit).rfind('@');
  if (at == npos || at < userinfo_end(uri)) return std::nullopt;
  const auto address_end = uri[begin] == '[' ? uri.find(']', begin) : begin;
  const auto colon = uri.find(':', std::min(address_end, at));
  if (colon > at) return std::nullopt;
  return Hidden{.begin = colon + 1, .end = at};
}

/// A URI without a '/' whose query seems to have an '@' in it: to libpq all before that is user and password.
std::optional<Hidden> query_taken_for_userinfo(std::string_view uri, bool is_refused) {
  const auto begin = uri_prefix_length(uri);
  const std::string_view userinfo = uri.substr(begin, userinfo_end(uri) - begin);
  const auto query = userinfo.find('?');
  if (query == npos || (!is_refused && end_of_password_sign(userinfo.substr(query)) == npos))
    return std::nullopt;
  return Hidden{.begin = begin + userinfo.find_first_of(":?") + 1, .end = uri.size(), .mistake = stray_at};
}

std::size_t query_of(std::string_view uri) {
  return std::min(uri.find('?', userinfo_end(uri)), uri.size());
}

/// Whether `parameter` stands in a URI without its keyword, as a user, host or database does.
bool is_uri_part(const Parameter& parameter, std::string_view text) {
  return uri_prefix_length(text) > 0 && parameter.begin == parameter.offset && !parameter.keyword.empty();
}

/// What is hidden of the value of a parameter that is no secret to libpq.
std::optional<Hidden> hidden_of_value(const Parameter& parameter, std::string_view text, bool is_refused) {
  Hidden whole{
      .begin = parameter.offset, .end = parameter.offset + parameter.length, .mistake = stray_password};
  // Anything may be set in options, rightly so.
  if (parameter.keyword == "options") whole.mistake = nullptr;
  const std::string_view written = text.substr(parameter.offset, parameter.length);
  // libpq makes one of two words of what it does not like in requiressl.
  std::string plain(written);
  std::erase(plain, '\\');
  if (holds_url_with_password(parameter.value, is_refused) || holds_url_with_password(plain, is_refused))
    return whole;
  const auto sign = end_of_password_sign(parameter.value);
  if (written != parameter.value)
    return sign != npos || end_of_password_sign(plain) != npos ? std::optional(whole) : std::nullopt;
  if (sign == npos) return std::nullopt;
  whole.begin += sign;
  return whole;
}

/// What is hidden of the values of all parameters.
std::vector<Hidden> hidden_of_parameters(std::string_view text, const Conninfo& conninfo) {
  const bool is_refused = conninfo.trouble != nullptr;
  std::vector<Hidden> parts;
  bool is_after_secret = false;  // what libpq does not understand may go on with a secret before it
  for (const Parameter& parameter : conninfo.parameters) {
    const Hidden value{.begin = parameter.offset, .end = parameter.offset + parameter.length};
    if (is_uri_part(parameter, text)) {
      if (!parameter.is_accepted || is_secret(parameter.keyword)) {
        parts.push_back(value);
      } else if (const auto hidden = hidden_of_value(parameter, text, is_refused)) {
        parts.push_back(*hidden);
      }
    } else if (!parameter.is_accepted) {
      const std::string_view written = text.substr(parameter.begin, parameter.offset - parameter.begin);
      if (is_after_secret || !is_word(written.substr(0, written.find_first_of("= \t\n\v\f\r")))) {
        parts.push_back({.begin = parameter.begin, .end = text.size()});
        break;
      }
      parts.push_back(value);
      is_after_secret = true;
    } else if (is_secret(parameter.keyword)) {
      if (!parameter.value.empty()) parts.push_back(value);
      is_after_secret = true;
    } else if (const auto hidden = hidden_of_value(parameter, text, is_refused)) {
      parts.push_back(*hidden);
      is_after_secret = true;
    }
  }
  return parts;
}

/// What is hidden because a URI was not meant as libpq takes it apart.
std::vector<Hidden> hidden_of_slips(std::string_view uri, const Conninfo& conninfo) {
  const auto port = std::ranges::find_if(conninfo.parameters, [&](const Parameter& parameter) {
    return parameter.keyword == "port" && is_uri_part(parameter, uri) && !is_port(parameter.value);
  });
  const bool is_port_bad = port != conninfo.parameters.end();
  // What libpq does not take as a whole may have a '?' in its password too.
  const bool is_doubtful = conninfo.trouble != nullptr || is_port_bad;
  std::vector<Hidden> parts;
  if (auto part = before_stray_at(uri, is_doubtful ? uri.size() : query_of(uri))) {
    if (has_stray_at(uri)) part->mistake = stray_at;
    parts.push_back(*part);
  } else if (is_port_bad) {
    // The port is a password, or the begin of one, whose host is missing.
    parts.push_back({.begin = port->offset, .end = uri.size(), .mistake = bad_port});
  }
  if (const auto part = query_taken_for_userinfo(uri, conninfo.trouble != nullptr)) parts.push_back(*part);
  return parts;
}

/// What is hidden of a connection string.
std::vector<Hidden> hidden_of_conninfo(std::string_view text, const Conninfo& conninfo) {
  std::vector<Hidden> parts = hidden_of_parameters(text, conninfo);
  if (conninfo.end < text.size()) parts.push_back({.begin = conninfo.end, .end = text.size()});
  if (uri_prefix_length(text) > 0)
    std::ranges::copy(hidden_of_slips(text, conninfo), std::back_inserter(parts));
  return parts;
}

/// A file's URL in another spelling than `sqlite:`.
bool is_like_sqlite(std::string_view text) {
  return meant_url(text).starts_with("sqlite:") && text.find_first_of("@=?") == npos;
}

/// What is hidden of a text that is no connection string: a path, or a URL of another kind, or a slip.
std::vector<Hidden> hidden_of_other_text(std::string_view text) {
  if (is_like_sqlite(text)) return {};
  const auto scheme = text.find("://");
  const auto begin = scheme != npos && is_word(text.substr(0, scheme)) ? scheme + 3 : 0;
  const std::string_view rest = text.substr(begin);
  const auto colon = rest.find(':');
  const bool names_path =
      begin == 0 && (rest.starts_with('/') || rest.starts_with('.') || rest.starts_with('~'));
  if ((is_plain(rest) || (names_path && rest.find_first_of(":@=") == npos)) &&
      lower_case(rest).find("pass") == npos) {
    return {};
  }
  // A password may have any sign in it, but comes behind the first ':'.
  const auto shown = colon != npos && is_plain(rest.substr(0, colon)) ? colon + 1 : 0;
  return {{.begin = begin + shown, .end = text.size()}};
}

std::vector<Hidden> hidden_parts(std::string_view url) {
  if (url.starts_with("sqlite:")) return {};
  const Conninfo conninfo = take_apart(url);
  const bool is_conninfo = conninfo.trouble == nullptr || uri_prefix_length(url) > 0 ||
                           (!conninfo.parameters.empty() && is_word(conninfo.parameters.front().keyword));
  if (is_conninfo) return hidden_of_conninfo(url, conninfo);
  return hidden_of_other_text(url);
}

}  // namespace

std::optional<std::size_t> end_of_type(std::string_view url) {
  const auto colon = url.find(':');
  if (colon == npos || !is_word(url.substr(0, colon))) return std::nullopt;
  return colon;
}

std::string meant_url(std::string_view url) {
  const auto colon = end_of_type(url);
  if (!colon) return {};
  const std::string type = lower_case(url.substr(0, *colon));
  std::string_view rest = url.substr(*colon + 1);
  if (type == "sqlite" || type == "sqlite3") {
    if (rest.starts_with("///")) rest.remove_prefix(2);
    return fmt::format("sqlite:{}", rest);
  }
  const bool is_postgresql = type == "postgresql" || type == "postgres" || type == "pgsql" || type == "psql";
  return is_postgresql && rest.starts_with("//") ? fmt::format("postgresql:{}", rest) : "";
}

bool is_secret(std::string_view keyword) {
  return keyword == "password" || keyword == "sslpassword" || keyword == "oauth_client_secret" ||
         keyword == "scram_client_key" || keyword == "scram_server_key";
}

bool has_stray_at(std::string_view uri) {
  return uri_prefix_length(uri) > 0 && before_stray_at(uri, query_of(uri));
}

std::string redact(std::string_view url) {
  std::vector<Hidden> parts = hidden_parts(url);
  std::ranges::sort(parts, {}, &Hidden::begin);
  std::string shown;
  std::size_t position = 0;
  for (const Hidden& part : parts) {
    if (part.begin == part.end) continue;
    if (part.begin > position || position == 0) {
      shown += url.substr(position, part.begin - position);
      shown += mask;
    }
    position = std::max(position, part.end);
  }
  return shown += url.substr(position);
}

std::string redact_message(std::string message, std::string_view connection_string, bool is_refused) {
  const std::vector<Hidden> parts = hidden_parts(connection_string);
  if (parts.empty()) return message;
  const auto quotable =
      std::ranges::find_if(parts, [](const Hidden& part) { return part.mistake != nullptr; });
  const char* reason = quotable != parts.end() ? quotable->mistake : nullptr;
  if (is_refused && reason == nullptr) reason = take_apart(connection_string).trouble;
  if (reason != nullptr) return fmt::format("its connection string is malformed: {}", reason);
  return is_refused ? "its connection string is malformed" : message;
}

}  // namespace leaf::store
