#include "store/url.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

#include "leaf/store.hpp"
#include "store/redaction.hpp"
#include "support/error_of.hpp"
#include "support/usage_error.hpp"

using leaf::redact_url;
using leaf::store::identity_text;
using leaf::store::parse_url;

TEST_CASE("url: each kind of store finds its driver") {
  CHECK(parse_url("sqlite:/a b/leaf.db").driver == "sqlite");
  CHECK(parse_url("sqlite:/a b/leaf.db").target == "/a b/leaf.db");
  for (const char* url :
       {"postgresql://", "postgres://h/d", "service=ids", " host = a,b dbname=x", "dbname=''"}) {
    CHECK(parse_url(url).driver == "postgresql");
    CHECK(parse_url(url).target == url);
  }
  for (const char* url : {"postgresql://me:a@b@h/d", "", "leaf.db", "mysql://h/d", "=x", "Host=x",
                          "sqlite:", "sqlite:file:x"}) {
    CHECK(leaf::test::error_code([&] { parse_url(url); }) == leaf::ErrorCode::usage);
  }
}

TEST_CASE("url: a zero byte is refused, which would end a path") {
  using namespace std::string_literals;
  for (const std::string& url : {"sqlite:/a.db\0b"s, "postgresql://h/d\0b"s, "service=a\0b"s}) {
    CAPTURE(url);
    CHECK(leaf::test::usage_error([&] { parse_url(url); }) == "the store's URL holds a zero byte");
  }
}

TEST_CASE("url: a store's type that is spelt otherwise is told the right spelling") {
  const auto told = [](const char* url) { return leaf::test::error_of([&] { parse_url(url); }); };
  const std::pair<const char*, const char*> meant[] = {{"SQLITE:/x", "sqlite:/x"},
                                                       {"sqlite3:/a b", "sqlite:/a b"},
                                                       {"sqlite3:leaf.db", "sqlite:leaf.db"},
                                                       {"Sqlite3:///x", "sqlite:/x"},
                                                       {"POSTGRES://h/d", "postgresql://h/d"},
                                                       {"pgsql://h/d", "postgresql://h/d"}};
  for (const auto& [url, right] : meant) {
    const leaf::Error error = told(url);
    CHECK(error.code() == leaf::ErrorCode::usage);
    CHECK(std::string(error.what()).starts_with("unknown store type '"));
    CHECK(error.hint() == "did you mean '" + std::string(right) + "'?");
    CHECK_NOTHROW(parse_url(right));
    CHECK(redact_url(url) == url);
  }
  CHECK(std::string(told("SQLITE:/x").what()) == "unknown store type 'SQLITE'");
  CHECK(std::string(told("mysql://me:secret@h").what()) == "unknown store type 'mysql'");
  for (const char* url : {"mysql://me:secret@h", "mysql://h/d", "pgsql:h/d"})
    CHECK(told(url).hint().starts_with("a store is 'sqlite:PATH'"));
  for (const char* url :
       {"POSTGRES://me:secret@h/d", "sqlite3://me:secret@h/d", "SQLITE:/x?password=secret"}) {
    CHECK(redact_url(url).find("secret") == std::string::npos);
    CHECK(told(url).hint().find("secret") == std::string::npos);
  }
}

TEST_CASE("url: no password is shown, whatever it is made of") {
  CHECK(redact_url("postgresql://me:secret@h:5432/d?sslmode=require") ==
        "postgresql://me:***@h:5432/d?sslmode=require");
  CHECK(redact_url("postgresql://me:a%40b%3a@h/d") == "postgresql://me:***@h/d");
  CHECK(redact_url("postgresql://me:a?b#c=d&e@h/d") == "postgresql://me:***@h/d");
  CHECK(redact_url("postgresql://h/d?user=me&password=secret&sslmode=require") ==
        "postgresql://h/d?user=me&password=***&sslmode=require");
  CHECK(redact_url("postgresql://h/d?user=me&pass%77ord=secret") ==
        "postgresql://h/d?user=me&pass%77ord=***");
  CHECK(redact_url("postgresql://h/d?password=a%26b&password=c") ==
        "postgresql://h/d?password=***&password=***");
  CHECK(redact_url("host=h password=secret dbname=d") == "host=h password=*** dbname=d");
  CHECK(redact_url("host=h password=abc&def dbname=d") == "host=h password=*** dbname=d");
  CHECK(redact_url("host=h password = 'se cr\\'et' dbname=d") == "host=h password = *** dbname=d");
  CHECK(redact_url("host=h password=a\\ b'c dbname=d") == "host=h password=*** dbname=d");
  CHECK(redact_url("host=h password= sslpassword='a'") == "host=h password= ***");
  CHECK(redact_url("host=h sslpassword=secret") == "host=h sslpassword=***");
  for (const std::string key : {"oauth_client_secret", "scram_client_key", "scram_server_key"})
    CHECK(redact_url("host=h " + key + "=secret") == "host=h " + key + "=***");
}

TEST_CASE("url: no password is shown of what libpq refuses") {
  CHECK(redact_url("host=h PassWord = 'secret' dbname=d") == "host=h PassWord = *** dbname=d");
  CHECK(redact_url("host=h passwd=secret") == "host=h passwd=***");
  CHECK(redact_url("nonsense=1 host=h") == "nonsense=*** host=h");
  CHECK(redact_url("host=h pwd=secret dbname=d") == "host=h pwd=*** dbname=d");
  CHECK(redact_url("host=h password=a secret dbname=d") == "host=h password=*** ***");
  CHECK(redact_url("host=h password=a secret=b dbname=d") == "host=h password=*** ***");
  CHECK(redact_url("host=h password='secret") == "host=h password=***");
  CHECK(redact_url("host=h password'secret'") == "host=h ***");
  CHECK(redact_url("postgresql://me:s%zz@h/d") == "postgresql://me:***@h/d");
  CHECK(redact_url("postgresql://me:s3cr?t%@[::1/d") == "postgresql://me:***");
  CHECK(redact_url("postgresql://h/d?sslmod=require") == "postgresql://h/d?sslmod=***");
  CHECK(redact_url("postgresql://h/d?password=abc&def") == "postgresql://h/d?password=***&***");
  CHECK(redact_url("postgresql://h/d?password=abc&def=ghi&user=x") == "postgresql://h/d?password=***&***");
  CHECK(redact_url("postgresql://h/d?password=abc=def&user=x") == "postgresql://h/d?password=***&user=x");
  CHECK(redact_url("postgresql://me:#s3cret?/@h/d") == "postgresql://me:***");
  CHECK(redact_url("POSTGRESQL://me:#s3cret?/@h/d") == "POSTGRESQL://me:***");
  CHECK(redact_url("postgres:secret@h/d") == "postgres:***");
  CHECK(redact_url("/srv/a:secret!") == "/srv/a:***");
  CHECK(redact_url("my secret!") == "***");
  CHECK(redact_url("mysql://me:secret@h") == "mysql://me:***");
  CHECK(redact_url("mysql://me@h?password=secret") == "mysql://***");
  CHECK(redact_url(std::string_view("password=abc\0def", 16)) == "password=***");
}

TEST_CASE("url: no password is shown where libpq takes it for something else") {
  CHECK(redact_url("postgresql://me:a@b@secret@h/d") == "postgresql://me:***@h/d");
  CHECK(redact_url("postgresql://me@corp:secret@h/d") == "postgresql://me@corp:***@h/d");
  CHECK(redact_url("postgresql://me:a/secret@h/d") == "postgresql://me:***@h/d");
  CHECK(redact_url("postgresql://me:12/secret@h/d") == "postgresql://me:***@h/d");
  CHECK(redact_url("postgresql://me:secret/d") == "postgresql://me:***");
  CHECK(redact_url("postgresql://me:123456/d") == "postgresql://me:***");
  CHECK(redact_url("postgresql://me:65536/d") == "postgresql://me:***");
  CHECK(redact_url("postgresql://me:99999999999/d") == "postgresql://me:***");
  CHECK(redact_url("postgresql://h:5432?password=a@secret") == "postgresql://h:***");
  CHECK(redact_url("postgresql://h/d&password=secret") == "postgresql://h/d&password=***");
  CHECK(redact_url("host=h;Password=secret;dbname=d") == "host=h;Password=***");
  CHECK(redact_url("host='h password=secret'") == "host=***");
  CHECK(redact_url("host='h Password \t= secret'") == "host=***");
  CHECK(redact_url("host='h passfile=/x pass=secret'") == "host=***");
  CHECK(redact_url("dbname=postgresql://me:secret@h/d") == "dbname=***");
  CHECK(redact_url("dbname=postgresql://me:se cret@h/d") == "dbname=*** ***");
  CHECK(redact_url("requiressl= password='secret'") == "requiressl= ***");
  CHECK(redact_url("requiressl=postgresql://me:secret@h/d") == "requiressl=***");
  CHECK(redact_url("options='-c my.password=secret'") == "options=***");
}

TEST_CASE("url: what holds no password is shown as it is") {
  for (const char* url : {"postgresql://h:5432/d",
                          "postgresql://me@h:5432/d",
                          "service=ids",
                          "sqlite:/a:b@c/password=x.db",
                          "host=h user=me",
                          "postgresql://[::1]:5432/d",
                          "host=h passfile=/x",
                          "password=",
                          "password=''",
                          "postgresql://a:1,b:2/d?target_session_attrs=read-write",
                          "leaf.db",
                          "/var/lib/my leaf.db",
                          "mysql://h/d",
                          "postgresql://h:5432/shop?application_name=leaf@web1",
                          "postgresql://h/d?requiressl=1&ssl=true",
                          "postgresql://h:65535/d",
                          "postgresql://a:1,b,c:65535/d",
                          "dbname=password=",
                          "dbname=postgresql://h:5432/d",
                          "postgresql://%2Frun%2Fpostgresql/d",
                          "host = 'a b' options='-c search_path=x'",
                          "dbname='my passwords'",
                          "dbname='passfile=x'",
                          "",
                          " "}) {
    CHECK(redact_url(url) == url);
  }
}

TEST_CASE("url: what libpq says is told, unless it may quote a password") {
  using leaf::store::redact_message;
  const std::string malformed = "its connection string is malformed";
  const auto told = [](const char* url, bool is_refused) { return redact_message("words", url, is_refused); };
  for (const char* url : {"host=h", "postgresql://me:secret@h/d", "host=h password=secret",
                          "host=h options='-c my.password=secret'", "service=ids"})
    CHECK(told(url, false) == "words");
  CHECK(told("service=ids", true) == "words");
  CHECK(told("host=h password=secret", true) == malformed);
  CHECK(told("host=h password=secret nonsense=1", true) ==
        malformed + ": there is a keyword that libpq does not know");
  for (const bool is_refused : {false, true}) {
    CHECK(told("password=x host='h password=secret'", is_refused) ==
          malformed + ": a password is in another parameter");
    CHECK(told("host='h password=secret'", is_refused) == malformed + ": a password is in another parameter");
    CHECK(told("postgresql://me:a@b@h/d", is_refused) ==
          malformed + ": there is an '@' where libpq expects none");
    CHECK(told("postgresql://me:secret/d", is_refused) == malformed + ": a port is not a number");
  }
}

TEST_CASE("url: the type of a store is one word before a colon") {
  using leaf::store::end_of_type;
  CHECK(end_of_type("mysql://h/d") == 5);
  CHECK(end_of_type("sqlite:a:b") == 6);
  CHECK(end_of_type("my_sql-2%:h") == 9);
  for (const char* url : {"", "sqlite", "a b:c", ":c", "a.b:c"}) CHECK_FALSE(end_of_type(url));
}

TEST_CASE("url: one target has one identity, in whatever form and with whatever password") {
  const std::string identity = identity_text("postgresql://me:secret@h:5432/d?sslmode=require");
  for (const char* url : {"postgres://me@h:5432/d?sslmode=require", "postgresql://me:other@h:5432/d?ssl=true",
                          "postgresql:///d?host=h&port=5432&user=m%65&requiressl=1",
                          "postgresql://h:1/d?port=5432&user=me&sslmode=require",
                          "user=me host = 'h' port=5432 dbname=d sslmode=require password='a b' "
                          "application_name=x keepalives=0",
                          "dbname=e dbname=d host=\\h port=5432 user=me sslmode=require"}) {
    CHECK(identity_text(url) == identity);
  }
  CHECK(identity.find("secret") == std::string::npos);
  CHECK(identity_text("sqlite:./a b.db") == "sqlite:./a b.db");
}

TEST_CASE("url: other targets have other identities") {
  const std::vector<std::string> urls = {
      "postgresql://h:5432/shop?application_name=leaf@web1",
      "postgresql://h:5432/billing?application_name=leaf@web1",
      "host=h",
      "host=h dbname=",
      "host=h dbname=d",
      "host='h;dbname=1:d'",
      "dbname='d;host=1:h;'",
      "dbname='d;host=h'",
      "dbname='d;host=:h'",
      "host=h dbname=d user=me",
      "host=h dbname=d options='-c search_path=x'",
      "postgresql://a,b/d",
      "postgresql://a,b:1/d",
      "postgresql://a:1,b/d",
      "service=a",
      "service=b",
      "",
      "postgresql:",
      "sqlite:postgresql:",
      "host=h password",
      "host=h passwork",
      "unparsed:host=h password",
  };
  std::set<std::string> identities;
  for (const std::string& url : urls) identities.insert(identity_text(url));
  CHECK(identities.size() == urls.size());
}

TEST_CASE("url: an '@' that would end a password too early is refused, and one that does not is taken") {
  for (const char* url : {"postgresql://me:a@b@h/d", "postgresql://me:a@@h/d", "postgresql://me:a/b@h/d",
                          "postgresql://me@corp:a@h/d"}) {
    const leaf::Error error = leaf::test::error_of([&] { parse_url(url); });
    CHECK(error.code() == leaf::ErrorCode::usage);
    CHECK(error.hint().find("%40") != std::string::npos);
  }
  for (const char* url : {"postgresql://me:a%40b%2F@h/d", "postgresql://h:5432/d?application_name=a@b",
                          "postgresql://h/a@b", "postgresql://me:a?b@h:5432/d"}) {
    CHECK(parse_url(url).target == url);
  }
}
