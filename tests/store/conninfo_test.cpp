#include "store/conninfo.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "leaf/store.hpp"
#include "store/redaction.hpp"
#include "store/url.hpp"
#include "support/conninfo_oracle.hpp"

using namespace leaf::test;

namespace {

/// A text that knows which of its characters were meant as a password, and which say so.
struct Marked {
  enum class Kind : char { open, secret, anchor };

  std::string text;
  std::vector<Kind> kinds;

  void add(std::string_view more, Kind kind = Kind::open) {
    text += more;
    kinds.resize(text.size(), kind);
  }
  std::vector<std::string> secrets() const {
    std::vector<std::string> found;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (kinds[i] != Kind::secret) continue;
      if (i == 0 || kinds[i - 1] != Kind::secret) found.emplace_back();
      found.back() += text[i];
    }
    return found;
  }
  /// What is left of the text, with '\n' in the place of each password.
  std::string open() const {
    std::string left;
    for (std::size_t i = 0; i < text.size(); ++i) left += kinds[i] == Kind::secret ? '\n' : text[i];
    return left;
  }
};

/// Writes connection strings at random, the same ones from the same seed.
class Writer {
 public:
  explicit Writer(unsigned seed) : random_(seed) {}

  Marked write() {
    Marked text;
    below(2) == 0 ? write_uri(text) : write_pairs(text);
    if (below(3) == 0) {
      for (auto left = 1 + below(3); left > 0; --left) mutate(text);
    }
    return text;
  }

  std::size_t below(std::size_t end) { return random_() % end; }

 private:
  const char* pick(const std::vector<const char*>& texts) { return texts[below(texts.size())]; }

  std::string secret() {
    static constexpr std::string_view usual = "abcXYZ0189kqvw";
    static constexpr std::string_view special = "@:/?#&=%'\\ +[],.;\"\t~\xc3";
    std::string text;
    for (auto left = below(14); left > 0; --left)
      text += below(4) == 0 ? special[below(special.size())] : usual[below(usual.size())];
    return text;
  }

  std::string encoded(std::string_view text, bool is_strict) {
    std::string result;
    for (const char c : text) {
      const bool is_special = std::string_view("@:/?#&=% [],").find(c) != std::string_view::npos;
      if ((is_special && is_strict) || below(12) == 0) {
        result +=
            fmt::format(fmt::runtime(below(2) == 0 ? "%{:02x}" : "%{:02X}"), static_cast<unsigned char>(c));
      } else {
        result += c;
      }
    }
    return result;
  }

  std::string escaped(std::string_view text, bool is_strict) {
    const bool is_quoted = below(2) == 0;
    std::string result;
    for (const char c : text) {
      const bool is_special =
          c == '\\' || c == '\'' || (!is_quoted && std::string_view(" \t").find(c) != std::string_view::npos);
      if ((is_special && is_strict) || below(12) == 0) result += '\\';
      result += c;
    }
    return is_quoted ? "'" + result + "'" : result;
  }

  const char* value() {
    return pick({"alice", "db.example.com", "5432", "ids", "leaf@web1", "/no/such", "require", "true",
                 "-c search_path=a,b", "a b", "it's", "", "1", "x=y", "::1", "100%", "a&b", "\\"});
  }
  const char* keyword() {
    return pick({"host", "hostaddr", "port", "user", "dbname", "application_name", "options", "service",
                 "sslmode", "connect_timeout", "passfile", "requiressl", "target_session_attrs", "keepalives",
                 "ssl", "nonsense", "sslkey", "Host"});
  }
  const char* secret_keyword() {
    return pick({"password", "password", "password", "sslpassword", "PassWord", "passwd", "pgpassword"});
  }

  void write_uri(Marked& text) {
    const bool is_strict = below(6) != 0;
    text.add(pick({"postgresql://", "postgres://", "postgresql://", "postgres://", "POSTGRESQL://"}));
    if (below(3) > 0) {
      text.add(encoded(pick({"alice", "bob", "al@ice", ""}), is_strict));
      if (below(3) > 0) {
        text.add(":", Marked::Kind::anchor);
        text.add(encoded(secret(), is_strict), Marked::Kind::secret);
      }
      text.add("@", Marked::Kind::anchor);
    }
    for (auto left = below(4); left > 0; --left) {
      text.add(pick({"db", "db.example.com", "10.0.0.1", "[::1]", "%2Frun%2Fpg", "", "[fe80::1%25eth0]"}));
      text.add(pick({"", ":5432", ":", ":5433"}));
      if (left > 1) text.add(",");
    }
    text.add(pick({"", "/", "/ids", "/a%20b", "/a@b"}));
    const char* sign = "?";
    for (auto left = below(4); left > 0; --left, sign = "&") {
      text.add(sign);
      if (below(4) == 0) {
        text.add(below(4) == 0 ? "pass%77ord=" : std::string(secret_keyword()) + "=", Marked::Kind::anchor);
        text.add(encoded(secret(), is_strict), Marked::Kind::secret);
      } else {
        text.add(encoded(keyword(), is_strict) + "=" + encoded(value(), is_strict));
      }
    }
  }

  void write_pairs(Marked& text) {
    const bool is_strict = below(6) != 0;
    for (auto left = below(5); left > 0; --left) {
      const std::string sign = pick({"=", "=", "=", " = ", "= ", " ="});
      if (below(3) == 0) {
        text.add(secret_keyword() + sign, Marked::Kind::anchor);
        text.add(escaped(secret(), is_strict), Marked::Kind::secret);
      } else {
        text.add(keyword() + sign + escaped(value(), is_strict));
      }
      text.add(pick({" ", " ", "  ", "\t", "\n"}));
    }
  }

  void mutate(Marked& text) {
    static constexpr std::string_view signs = "@:/?#&=%'\\ []a0";
    if (text.text.empty()) return;
    const auto at = below(text.text.size());
    const auto place = static_cast<std::ptrdiff_t>(at);
    const char sign = signs[below(signs.size())];
    switch (below(4)) {
      case 0:
        if (text.kinds[at] == Marked::Kind::anchor) break;
        text.text.erase(at, 1);
        text.kinds.erase(text.kinds.begin() + place);
        break;
      case 1:
        if (text.kinds[at] != Marked::Kind::anchor) text.text[at] = sign;
        break;
      case 2:
        if (at > 0 && text.kinds[at - 1] == Marked::Kind::anchor && text.kinds[at] == Marked::Kind::anchor)
          break;
        // What comes into a password belongs to it.
        text.text.insert(at, 1, sign);
        text.kinds.insert(text.kinds.begin() + place,
                          text.kinds[at] == Marked::Kind::secret ? Marked::Kind::secret : Marked::Kind::open);
        break;
      default:
        // Without its end sign a password with an '@' in it is one with a host.
        if (text.kinds[at] == Marked::Kind::secret && text.text.find("://") != std::string::npos) break;
        text.text.resize(at);
        text.kinds.resize(at);
    }
  }

  std::mt19937 random_;
};

constexpr int how_many = 150'000;

/// Of messages that quote nothing.
constexpr const char* its_words = "its connection string is malformed: ";

}  // namespace

TEST_CASE("conninfo: what libpq accepts is taken apart alike, and shown without its passwords") {
  Writer writer(1);
  std::map<std::string, Values> targets;
  int accepted = 0;
  for (int i = 0; i < how_many; ++i) {
    const Marked marked = writer.write();
    const std::string& text = marked.text;
    const Verdict verdict = ask_libpq(text);
    if (const std::string complaint = complaint_about(text, verdict); !complaint.empty()) {
      FAIL(text << "\n" << complaint);
    }
    if (!verdict.values) continue;
    ++accepted;
    const auto [found, is_new] =
        targets.try_emplace(leaf::store::identity_text(text), target_of(*verdict.values));
    if (found->second != target_of(*verdict.values)) FAIL(text << "\nshares an identity: " << found->first);
  }
  MESSAGE(accepted << " of " << how_many << " accepted, " << targets.size() << " targets");
  CHECK(accepted > how_many / 3);
  CHECK(accepted < how_many * 9 / 10);
}

TEST_CASE("conninfo: an address in brackets that libpq refuses is refused") {
  for (const std::string text : {"postgresql://[]/ids", "postgresql://[::1]a", "postgresql://[::1/ids"}) {
    CAPTURE(text);
    CHECK_FALSE(ask_libpq(text).values);
    CHECK_FALSE(leaf::store::parse_conninfo(text));
  }
}

TEST_CASE("conninfo: of what libpq refuses no password is shown, nor in what libpq says of it") {
  Writer writer(2);
  int refused = 0;
  for (int i = 0; i < how_many; ++i) {
    const Marked marked = writer.write();
    const Verdict verdict = ask_libpq(marked.text);
    if (verdict.values) continue;
    ++refused;
    const std::string shown = leaf::redact_url(marked.text);
    const std::string told = leaf::store::redact_message(verdict.message, marked.text, true);
    for (const std::string& secret : marked.secrets()) {
      if (const std::string part = leak(shown, secret, marked.open()); !part.empty())
        FAIL(marked.text << "\nis shown as " << shown << "\nwith " << part);
      if (const std::string part = leak(told, secret, marked.open() + its_words); !part.empty())
        FAIL(marked.text << "\nis told of as " << told << "\nwith " << part);
    }
  }
  CHECK(refused > how_many / 10);
}

TEST_CASE("conninfo: what libpq says before it asks a server shows no password") {
  Writer writer(3);
  int told_of = 0;
  for (int i = 0; i < how_many / 100; ++i) {
    const std::string text = writer.write().text;
    const auto parameters = leaf::store::parse_conninfo(text);
    if (!parameters) continue;
    const std::string told = leaf::store::redact_message(message_of_no_connection(text), text, false);
    CHECK(!told.empty());
    ++told_of;
    for (const leaf::store::Parameter& parameter : *parameters) {
      if (!leaf::store::is_secret(parameter.keyword)) continue;
      CAPTURE(text);
      CHECK(leak(told, parameter.value, leaf::redact_url(text)) == "");
    }
  }
  CHECK(told_of > 0);
}
