#include "ids/sql_column.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "leaf/error.hpp"

using leafctl::sql_column;

TEST_CASE("SQL column: what needs quotes gets them, in each part of a name") {
  const std::pair<std::string, std::string> names[] = {
      {"id", "id"},
      {"OrderId", "OrderId"},
      {"_id2", "_id2"},
      {"orders.id", "orders.id"},
      {"shop.orders.id", "shop.orders.id"},
      {"order", "\"order\""},
      {"ORDER", "\"ORDER\""},
      {"order.id", "\"order\".id"},
      {"order id", "\"order id\""},
      {"2nd", "\"2nd\""},
      {"order-id", "\"order-id\""},
      {"größe", "\"größe\""},
      {"a\"b", "\"a\"\"b\""},
      {"id; DROP TABLE orders --", "\"id; DROP TABLE orders --\""},
      {"1=1 OR id", "\"1=1 OR id\""},
      {"\"Order ID\"", "\"Order ID\""},
      {"\"a\"\"b\"", "\"a\"\"b\""},
      {"\"a.b\".id", "\"a.b\".id"},
      {"o.\"Id\"", "o.\"Id\""},
  };
  for (const auto& [name, wanted] : names) CHECK(sql_column("--sql", name) == wanted);
}

TEST_CASE("SQL column: what names no column is refused") {
  const std::pair<std::string, std::string> names[] = {
      {"", "a part of it is empty"},
      {".id", "a part of it is empty"},
      {"orders.", "a part of it is empty"},
      {"a..b", "a part of it is empty"},
      {"\"\"", "a part of it is empty"},
      {"\"id", "a quote in it is not closed"},
      {"\"a\"\"", "a quote in it is not closed"},
      {"\"a\"b", "text follows a closing quote"},
      {"a\nb", "it has a control character"},
      {std::string("a\0b", 3), "it has a control character"},
  };
  for (const auto& [name, why] : names) {
    CHECK_THROWS_WITH_AS(sql_column("--sql", name),
                         ("'--sql' takes a column, not '" + name + "': " + why).c_str(), leaf::Error);
  }
}
