#include "support/conninfo_oracle.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <memory>
#include <set>

#include "leaf/store.hpp"
#include "store/conninfo.hpp"
#include "store/redaction.hpp"
#include "store/url.hpp"

namespace leaf::test {

namespace {

constexpr std::size_t window = 4;

struct FreeOptions {
  void operator()(PQconninfoOption* options) const noexcept { PQconninfoFree(options); }
};
using Options = std::unique_ptr<PQconninfoOption, FreeOptions>;

bool knows(const std::string& keyword) {
  static const std::set<std::string> known = [] {
    std::set<std::string> keywords;
    const Options options(PQconndefaults());
    for (const auto* option = options.get(); option->keyword != nullptr; ++option)
      keywords.insert(option->keyword);
    return keywords;
  }();
  return known.count(keyword) > 0;
}

bool is_secret(const std::string& keyword) {
  return keyword == "password" || keyword == "sslpassword";
}

bool is_uri(std::string_view text) {
  return text.starts_with("postgresql://") || text.starts_with("postgres://");
}

std::string lower_case(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

std::string as_pairs(const Values& values) {
  std::string text;
  for (const auto& [keyword, value] : values) {
    text += keyword + " = '";
    for (const char c : value) text += c == '\'' || c == '\\' ? std::string("\\") + c : std::string(1, c);
    text += "' ";
  }
  return text;
}

std::string as_uri(const Values& values) {
  std::string text = "postgres://";
  for (const auto& [keyword, value] : values) {
    text += (text.back() == '/' ? "?" : "&") + keyword + "=";
    for (const char c : value) text += fmt::format("%{:02x}", static_cast<unsigned char>(c));
  }
  return text;
}

Values last_values(const std::vector<store::Parameter>& parameters) {
  Values values;
  for (const store::Parameter& parameter : parameters) values[parameter.keyword] = parameter.value;
  return values;
}

/// Whether a part of `text` that libpq takes for no secret looks like one to a person, so that more may be
/// hidden.
bool looks_like_a_slip(const std::string& text, const std::vector<store::Parameter>& parameters) {
  for (const store::Parameter& parameter : parameters) {
    if (is_secret(parameter.keyword)) continue;
    const std::string written = text.substr(parameter.offset, parameter.length);
    std::string plain = written;
    std::erase(plain, '\\');
    if (lower_case(plain + ' ' + parameter.value).find("pass") != std::string::npos) return true;
    if ((written + parameter.value).find("://") != std::string::npos) return true;
    const bool is_number = parameter.value.find_first_not_of("0123456789,") == std::string::npos;
    if (parameter.keyword == "port" && (!is_number || parameter.value.size() > 4)) return true;
  }
  if (!is_uri(text)) return false;
  const auto begin = text.find("://") + 3;
  const auto end = text.find_first_of("@/", begin);
  const auto hosts = end != std::string::npos && text[end] == '@' ? end + 1 : begin;
  if (text.substr(hosts, text.find('?', hosts) - hosts).find('@') != std::string::npos) return true;
  return lower_case(text.substr(begin, hosts - begin)).find("pass") != std::string::npos;
}

std::string complaint_about_parsing(const std::string& text, const Verdict& verdict,
                                    const std::optional<std::vector<store::Parameter>>& parameters) {
  if (parameters && std::ranges::any_of(*parameters, [](const auto& p) { return !knows(p.keyword); }))
    return {};  // of a newer libpq
  if (PQlibVersion() >= 180000 && is_uri(text) && text.find(' ') != std::string::npos) return {};
  if (parameters.has_value() != verdict.values.has_value())
    return verdict.values ? "libpq accepts it" : "libpq refuses it: " + verdict.message;
  if (parameters && last_values(*parameters) != *verdict.values) return "libpq has other values";
  return {};
}

/// Another value in the place of a parameter's has to be found in that place. One of them has its turn.
std::string complaint_about_places(const std::string& text, const std::vector<store::Parameter>& parameters) {
  if (parameters.empty()) return {};
  const auto i = text.size() % parameters.size();
  const store::Parameter& parameter = parameters[i];
  const bool is_interleaved = is_uri(text) && parameter.begin == parameter.offset &&
                              (parameter.keyword == "host" || parameter.keyword == "port");
  // A '/' decides whether an '@' further on ends a user's name.
  const bool is_structural =
      is_uri(text) && text.find('/', parameter.offset) < parameter.offset + parameter.length;
  if (is_interleaved || is_structural || parameter.keyword == "sslmode") return {};
  const auto again = store::parse_conninfo(
      std::string(text).replace(parameter.offset, parameter.length, is_uri(text) ? "zz" : "'zz' "));
  if (again && again->size() > i && (*again)[i].value == "zz") return {};
  return "the value of '" + parameter.keyword + "' stands elsewhere";
}

std::string complaint_about_redaction(const std::string& text,
                                      const std::vector<store::Parameter>& parameters) {
  const std::string shown = redact_url(text);
  std::string expected = text;
  for (auto parameter = parameters.rbegin(); parameter != parameters.rend(); ++parameter) {
    if (is_secret(parameter->keyword) && !parameter->value.empty())
      expected.replace(parameter->offset, parameter->length, "***");
  }
  for (const store::Parameter& parameter : parameters) {
    if (!is_secret(parameter.keyword)) continue;
    for (const std::string& secret : {parameter.value, text.substr(parameter.offset, parameter.length)}) {
      if (const std::string part = leak(shown, secret, expected); !part.empty())
        return "'" + part + "' of a password is shown: " + shown;
    }
  }
  if (shown != expected && !looks_like_a_slip(text, parameters))
    return "more than a password is hidden: " + shown;
  return {};
}

/// Of a text that libpq refuses no piece is known to be a password, but for what nobody would doubt.
std::string complaint_about_refused(const std::string& text, const std::string& shown) {
  const auto secret_at = [&](std::size_t begin) -> std::string {
    auto end = begin;
    while (end < text.size() && std::isalnum(static_cast<unsigned char>(text[end])) != 0) ++end;
    const std::string open = text.substr(0, begin) + '\n' + text.substr(end);
    const std::string part = leak(shown, text.substr(begin, end - begin), open);
    return part.empty() ? part : "'" + part + "' may be of a password, and is shown: " + shown;
  };
  for (const std::string_view sign : {"password=", "passwd=", "PASSWORD=", "sslpassword = "}) {
    for (auto at = text.find(sign); at != std::string::npos; at = text.find(sign, at + 1)) {
      if (std::string complaint = secret_at(at + sign.size()); !complaint.empty()) return complaint;
    }
  }
  const auto authority = text.find("://");
  if (authority == std::string::npos || text.find('[') != std::string::npos) return {};
  const auto colon = text.find(':', authority + 3);
  // Behind white space another parameter begins, whose colon need not be one of a URL.
  if (colon == std::string::npos || text.find_first_of("/?@ \t\n\v\f\r", authority + 3) < colon) return {};
  return text.find('@', colon) == std::string::npos ? std::string() : secret_at(colon + 1);
}

std::string complaint_about_identity(const std::string& text, const Values& values) {
  const std::string identity = store::identity_text(text);
  const std::string other = text.size() % 2 == 0 ? as_pairs(values) : as_uri(values);
  if (store::identity_text(other) != identity) return "another identity than " + other;
  Values open = values;
  open["password"] = open["sslpassword"] = "another";
  open["application_name"] = "another";
  if (store::identity_text(as_pairs(open)) != identity) return "the password is a part of the identity";
  // One of them for each text; all have their turn.
  const Values target = target_of(values);
  if (!target.empty()) {
    const auto& [keyword, value] =
        *std::next(target.begin(), static_cast<std::ptrdiff_t>(text.size() % target.size()));
    Values changed = values;
    changed[keyword] += "x";
    if (store::identity_text(as_pairs(changed)) == identity)
      return "another " + keyword + " is the same target";
  }
  return {};
}

}  // namespace

Verdict ask_libpq(const std::string& text) {
  char* message = nullptr;
  const Options options(PQconninfoParse(text.c_str(), &message));
  const std::unique_ptr<char, decltype(&PQfreemem)> freed(message, &PQfreemem);
  Verdict verdict;
  if (message != nullptr) verdict.message = message;
  if (!options) return verdict;
  verdict.values.emplace();
  for (const auto* option = options.get(); option->keyword != nullptr; ++option) {
    if (option->val != nullptr) verdict.values->emplace(option->keyword, option->val);
  }
  return verdict;
}

std::string complaint_about(const std::string& text, const Verdict& verdict) {
  const auto parameters = store::parse_conninfo(text);
  if (std::string complaint = complaint_about_parsing(text, verdict, parameters); !complaint.empty())
    return complaint;
  if (text.starts_with("sqlite:")) return redact_url(text) == text ? "" : "a path is hidden";
  if (parameters && verdict.values) {
    for (const auto& complaint :
         {complaint_about_redaction(text, *parameters), complaint_about_places(text, *parameters)}) {
      if (!complaint.empty()) return complaint;
    }
    return complaint_about_identity(text, *verdict.values);
  }
  const std::string shown = redact_url(text);
  if (std::string complaint = complaint_about_refused(text, shown); !complaint.empty()) return complaint;
  if (shown == text || verdict.values) return {};
  // Without quotation marks nothing of the text is quoted.
  const std::string told = store::redact_message(verdict.message, text, true);
  return told.find('"') == std::string::npos ? "" : "it is told of as " + told;
}

Values target_of(Values values) {
  for (const char* keyword :
       {"password", "sslpassword", "application_name", "client_encoding", "connect_timeout",
        "fallback_application_name", "keepalives", "keepalives_count", "keepalives_idle",
        "keepalives_interval", "tcp_user_timeout"}) {
    values.erase(keyword);
  }
  return values;
}

std::string leak(std::string_view shown, std::string_view secret, std::string_view open) {
  // A mask is no part of a password, which may have stars of its own.
  constexpr std::string_view mask = "***";
  std::string seen(shown);
  for (auto at = seen.find(mask); at != std::string::npos; at = seen.find(mask, at))
    seen.replace(at, mask.size(), 1, '\0');
  for (std::size_t i = 0; i + window <= secret.size(); ++i) {
    const std::string_view part = secret.substr(i, window);
    if (seen.find(part) != std::string::npos && open.find(part) == std::string_view::npos)
      return std::string(part);
  }
  return {};
}

std::string message_of_no_connection(const std::string& text) {
  const char* const keywords[] = {"dbname", "sslmode", nullptr};
  const char* const values[] = {text.c_str(), "no such mode", nullptr};
  const std::unique_ptr<PGconn, decltype(&PQfinish)> connection(PQconnectStartParams(keywords, values, 1),
                                                                &PQfinish);
  return PQerrorMessage(connection.get());
}

}  // namespace leaf::test
