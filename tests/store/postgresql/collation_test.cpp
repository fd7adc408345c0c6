#include <doctest/doctest.h>

#include <iterator>
#include <string>

#include "leaf/error.hpp"
#include "leaf/health.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/sql_session.hpp"
#include "support/test_database.hpp"

using leaf::test::error_of;
using leaf::test::SqlSession;
using leaf::test::TestDatabase;

namespace {

const leaf::TagName order("order");

/// A database that sorts by bytes, until it is told to sort as another release of the operating system would.
class SortedOtherwise {
 public:
  SortedOtherwise() {
    server_.sql().run("CREATE DATABASE " + name_ +
                      " TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C' ENCODING 'UTF8'");
  }
  ~SortedOtherwise() { server_.sql().run("DROP DATABASE " + name_ + " WITH (FORCE)"); }
  SortedOtherwise(const SortedOtherwise&) = delete;
  SortedOtherwise& operator=(const SortedOtherwise&) = delete;

  /// Whether this server can be told so.
  bool is_possible() {
    return server_.server_version() >= 15 &&
           server_.sql().value(
               "SELECT count(*) FROM pg_collation WHERE collprovider = 'i' AND collname = 'en-x-icu'") == "1";
  }
  /// What lies in indexes stays as it is.
  void sort_otherwise() {
    const std::string locale = server_.server_version() >= 17 ? "datlocale" : "daticulocale";
    server_.sql().run("UPDATE pg_database SET datlocprovider = 'i', " + locale +
                      " = 'en-US', datcollversion = NULL WHERE datname = '" + name_ + "'");
  }
  std::string url() const { return server_.url("dbname=" + name_); }

 private:
  TestDatabase server_;
  const std::string name_ = server_.name() + "_sorted";
};

/// As the schema was before: the key goes by the database's collation.
void make_key_as_before(SqlSession& sql) {
  sql.run(
      "ALTER TABLE leaf_alloc ALTER COLUMN biz_tag TYPE varchar(128) COLLATE \"default\";"
      "UPDATE leaf_meta SET schema_version = 10");
}

std::string keys_of_other_collations(SqlSession& sql) {
  return sql.value(
      "SELECT coalesce(string_agg(i.indexrelid::regclass || ' ' || c.collname, ', '), '')"
      " FROM pg_index i CROSS JOIN LATERAL unnest(i.indcollation::oid[]) AS used JOIN pg_collation c ON "
      "c.oid = used"
      " WHERE i.indrelid::regclass::text LIKE 'leaf\\_%' AND c.collname <> 'C'");
}

std::string file_of_tags(SqlSession& sql) {
  return sql.value("SELECT pg_relation_filepath('leaf_alloc')");
}

}  // namespace

TEST_CASE(
    "collation: no key of the store goes by the database's, in a new store, an older one and Leaf's own "
    "table") {
  TestDatabase database;
  SqlSession& sql = database.sql();
  leaf::Store store({.url = database.url()});
  SUBCASE("new") {
    store.migrate();
  }
  SUBCASE("older") {
    store.migrate();
    make_key_as_before(sql);
    CHECK_FALSE(keys_of_other_collations(sql).empty());
    CHECK(store.migrate().size() == 3);  // 0011 and what came after it
  }
  SUBCASE("Leaf's own, with a text for a key") {
    sql.run(
        "CREATE TABLE leaf_alloc (biz_tag text PRIMARY KEY, max_id bigint NOT NULL DEFAULT 1, step int NOT "
        "NULL)");
    store.migrate();
    CHECK(sql.value("SELECT format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = "
                    "'leaf_alloc'::regclass AND attname = 'biz_tag'") == "text");
  }
  CHECK(keys_of_other_collations(sql).empty());
  // Of all that looks a tag up, so that the index serves it.
  sql.run("SET enable_seqscan = off");
  sql.run("PREPARE lookup AS SELECT max_id FROM leaf_alloc WHERE biz_tag = $1");
  const auto plan = sql.rows("EXPLAIN EXECUTE lookup('order')");
  CHECK(plan.at(0).at(0).find("Index Scan") != std::string::npos);
}

TEST_CASE("collation: a database that sorts otherwise than before finds all of its tags") {
  SortedOtherwise database;
  if (!database.is_possible()) return;
  const char* const names[] = {"Invoice", "order", "Order-eu", "order_us", "Shipment", "user"};
  {
    leaf::Store store({.url = database.url()});
    store.migrate();
    for (const char* name : names) {
      store.add_tag({.name = leaf::TagName(name), .step = 10});
      CHECK(store.grant(leaf::TagName(name), 25).range == leaf::Range{1, 26});
    }
  }
  database.sort_otherwise();
  leaf::Store store({.url = database.url()});
  for (const char* name : names) {
    CAPTURE(name);
    CHECK(store.grant(leaf::TagName(name), 1).range == leaf::Range{26, 27});
    store.add_tag({.name = leaf::TagName(name), .step = 10});  // it is there already
    CHECK(store.grant(leaf::TagName(name), 1).range == leaf::Range{27, 28});
  }
  CHECK(store.tags().size() == std::size(names));
}

TEST_CASE(
    "collation: an upgrade finds tags again that were lost, and of two rows keeps the one that granted "
    "further") {
  SortedOtherwise database;
  if (!database.is_possible()) return;
  {
    leaf::Store store({.url = database.url()});
    store.migrate();
    for (const char* name : {"Invoice", "order", "Order-eu", "order_us", "Shipment", "user"})
      store.add_tag({.name = leaf::TagName(name), .step = 10});
    CHECK(store.grant(order, 25).range == leaf::Range{1, 26});
  }
  SqlSession(database.url())
      .run("ALTER TABLE leaf_alloc ALTER COLUMN biz_tag TYPE varchar(128) COLLATE \"default\"");
  database.sort_otherwise();
  SqlSession sql(database.url());
  sql.run("INSERT INTO leaf_alloc (biz_tag, step) VALUES ('order', 10)");  // which the index does not find
  REQUIRE(sql.value("SELECT count(*) FROM leaf_alloc") == "7");
  sql.run("UPDATE leaf_meta SET schema_version = 10");
  const std::string before = file_of_tags(sql);

  leaf::Store store({.url = database.url()});
  CHECK(store.migrate().size() == 3);  // 0011 and what came after it
  CHECK(store.grant(order, 1).range == leaf::Range{26, 27});
  CHECK(store.tags().size() == 6);
  CHECK(store.health().tags_lost == 0);
  CHECK_THROWS_WITH(SqlSession(database.url()).run("DELETE FROM leaf_alloc"),
                    doctest::Contains("may not be deleted"));
  // The index is another one. The table is not, and nothing waits.
  CHECK(file_of_tags(sql) == before);
  CHECK(store.failover().tags.empty());
  CHECK_FALSE(store.failover().leases_wait);
}

TEST_CASE("collation: views that keep the upgrade from it are named, and it goes on without them") {
  TestDatabase database;
  leaf::Store store({.url = database.url()});
  store.migrate();
  make_key_as_before(database.sql());
  database.sql().run("CREATE VIEW shown AS SELECT biz_tag, max_id FROM leaf_alloc");
  const leaf::Error error = error_of([&] { store.migrate(); });
  CHECK(std::string(error.what()).find("public.shown") != std::string::npos);
  CHECK(error.hint() == "drop them, and create them again afterwards");
  database.sql().run("DROP VIEW shown");
  CHECK(store.migrate().size() == 3);  // 0011 and what came after it
}
