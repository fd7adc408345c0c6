#include "store/url.hpp"

#include <doctest/doctest.h>

#include "leaf/store.hpp"
#include "support/error_of.hpp"

using leaf::redact_url;
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

TEST_CASE("url: no password is shown, whatever it is made of") {
  CHECK(redact_url("postgresql://me:secret@h:5432/d?x=1") == "postgresql://me:***@h:5432/d?x=1");
  CHECK(redact_url("POSTGRESQL://me:#s3cret?/@h/d") == "POSTGRESQL://me:***@h/d");
  CHECK(redact_url("postgresql://me:a@secret@h/d") == "postgresql://me:***@h/d");
  CHECK(redact_url("postgresql://h/d?user=me&password=secret&sslmode=require") ==
        "postgresql://h/d?user=me&password=***&sslmode=require");
  CHECK(redact_url("host=h password=secret dbname=d") == "host=h password=*** dbname=d");
  CHECK(redact_url("host=h PassWord = 'se cr\\'et' dbname=d") == "host=h PassWord = *** dbname=d");
  CHECK(redact_url("host=h password=a secret dbname=d") == "host=h password=*** dbname=d");
  CHECK(redact_url("host=h sslpassword=secret") == "host=h sslpassword=***");
  CHECK(redact_url("host=h password='secret") == "host=h password=***");
  CHECK(redact_url("postgresql://h/d?user=me&pass%77ord=secret") ==
        "postgresql://h/d?user=me&pass%77ord=***");
  CHECK(redact_url("host=h passwd=secret") == "host=h passwd=***");
  CHECK(redact_url("mysql://me:secret@h") == "mysql://me:***@h");
}

TEST_CASE("url: what holds no password is shown as it is") {
  for (const char* url :
       {"postgresql://h:5432/d", "postgresql://me@h:5432/d", "service=ids", "sqlite:/a:b@c/x.db",
        "host=h user=me", "postgresql://[::1]:5432/d", "host=h passfile=/x", "password="}) {
    CHECK(redact_url(url) == url);
  }
}
