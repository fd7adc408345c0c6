#include "text/delimited_text.hpp"

#include <doctest/doctest.h>

#include <string>

#include "leaf/error.hpp"

using leafctl::csv_line;
using leafctl::DelimitedForm;
using leafctl::read_delimited;

namespace {

constexpr DelimitedForm csv{};
constexpr DelimitedForm mysql_csv{.separator = ',', .has_quotes = true, .is_mysql = true};
constexpr DelimitedForm mysql_tabs{.separator = '\t', .has_quotes = false, .is_mysql = true};

/// Fields in brackets, records on lines; NULL is <>.
std::string shown(const std::string& text, const DelimitedForm& form) {
  std::string result;
  for (const auto& record : read_delimited(text, form, "f")) {
    for (const auto& field : record) result += field.text ? "[" + *field.text + "]" : "<>";
    result += '\n';
  }
  return result;
}

std::string places(const std::string& text, const DelimitedForm& form) {
  std::string result;
  for (const auto& record : read_delimited(text, form, "f")) {
    for (const auto& field : record)
      result += std::to_string(field.line) + ":" + std::to_string(field.column) + " ";
  }
  return result;
}

}  // namespace

TEST_CASE("delimited text: fields and records are told apart, quoted ones too") {
  CHECK(shown("a,b\nc,d\n", csv) == "[a][b]\n[c][d]\n");
  CHECK(shown("a,b\r\nc,d", csv) == "[a][b]\n[c][d]\n");
  CHECK(shown("a,,\n", csv) == "[a][][]\n");
  CHECK(shown("\"a,b\",\"c\"\"d\",\"e\nf\"\n", csv) == "[a,b][c\"d][e\nf]\n");
  CHECK(shown("\n\na\n\r\n\nb\n", csv) == "[a]\n[b]\n");
  CHECK(shown("", csv).empty());
}

TEST_CASE("delimited text: escapes and NULL are MySQL's and nobody else's") {
  CHECK(shown("NULL,\\N,\"a\\b\"\n", csv) == "[NULL][\\N][a\\b]\n");
  CHECK(shown("NULL,\\N,\"NULL\",NULLS\n", mysql_csv) == "<><>[NULL][NULLS]\n");
  CHECK(shown("\"a\\\"b\",\"c\\\\\",d\\,e\n", mysql_csv) == "[a\"b][c\\][d,e]\n");
  CHECK(shown("a\\tb\\nc\\\\d\\qe\tNULL\n", mysql_tabs) == "[a\tb\nc\\d\\qe]<>\n");
  CHECK(shown("a\\\nb\t1\n", mysql_tabs) == "[a\nb][1]\n");
  CHECK(shown("\"a\"\tb,c\n", mysql_tabs) == "[\"a\"][b,c]\n");
  CHECK(shown("a\\", mysql_tabs) == "[a\\]\n");
}

TEST_CASE("delimited text: places count lines and characters") {
  CHECK(places("a,bc\n\"d\ne\",f\n", csv) == "1:1 1:3 2:1 3:4 ");
  CHECK(places("größe,x\n", csv) == "1:1 1:7 ");
}

TEST_CASE("delimited text: a quote that is open or closed in the middle is refused with its place") {
  CHECK_THROWS_WITH_AS(read_delimited("a,b\nc,\"d\n", csv, "f"), "f:2:3: a quote that is not closed",
                       leaf::Error);
  CHECK_THROWS_WITH_AS(read_delimited("\"a\"b,c\n", csv, "f"), "f:1:4: text after a closing quote",
                       leaf::Error);
  CHECK_THROWS_WITH_AS(read_delimited("\"C:\\\"\n", mysql_csv, "f"), "f:1:1: a quote that is not closed",
                       leaf::Error);
}

TEST_CASE("delimited text: what is written is read again") {
  const std::vector<std::string> fields{"", "a", "b,c", "d\"e", "f\ng", "\\N", "NULL", "h\r"};
  const auto records = read_delimited(csv_line(fields), csv, "f");
  REQUIRE(records.size() == 1);
  REQUIRE(records[0].size() == fields.size());
  for (std::size_t i = 0; i < fields.size(); ++i) CHECK(records[0][i].text == fields[i]);
}
