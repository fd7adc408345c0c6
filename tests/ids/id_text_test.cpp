#include "leaf/id_form.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

using leaf::id_error;
using leaf::parse_id;

TEST_CASE("ID text: a decimal number that the layout holds is an ID, as it would be written") {
  const auto layout = leaf::Layout::parse("leaf");
  CHECK(parse_id("0", layout) == 0);
  CHECK(parse_id("7", layout) == 7);
  CHECK(parse_id("9223372036854775807", layout) == 9223372036854775807);
}

TEST_CASE("ID text: all else is refused with the reason") {
  const auto layout = leaf::Layout::parse("baidu:20+4+4");
  const std::pair<std::string, std::string> wrong[] = {
      {"", "'' is not an ID: it is empty"},
      {"abc", "'abc' is not an ID"},
      {" 7", "' 7' is not an ID"},
      {"7 ", "'7 ' is not an ID"},
      {"+7", "'+7' is not an ID"},
      {"0x10", "'0x10' is not an ID"},
      {"1e6", "'1e6' is not an ID"},
      {"1.0", "'1.0' is not an ID"},
      {"-", "'-' is not an ID"},
      {std::string("5\0\0", 3), "'5\\x00\\x00' is not an ID"},
      {"-5", "'-5' is not an ID: it is negative"},
      {"-0", "'-0' is not an ID: it is negative"},
      {"-9223372036854775793", "'-9223372036854775793' is not an ID: it is negative"},
      {"9223372036854775808", "'9223372036854775808' is not an ID: it is greater than 9223372036854775807"},
      {"00", "'00' is not an ID: it has zeros in front"},
      {"007", "'007' is not an ID: it has zeros in front"},
      {"0268435455", "'0268435455' is not an ID: it has zeros in front"},
      {"00000000000000000007", "'00000000000000000007' is not an ID: it has zeros in front"},
      {"268435456", "'268435456' is not an ID of layout 'time:20,worker:4,sequence:4/1s@1463673600000'"},
      {std::string(41, 'x'), "'" + std::string(40, 'x') + "...' is not an ID"},
  };
  for (const auto& [text, error] : wrong) {
    CHECK_FALSE(parse_id(text, layout));
    CHECK(id_error(text, layout).what() == error);
    CHECK(id_error(text, layout).code() == leaf::ErrorCode::usage);
    CHECK_FALSE(id_error(text, layout).hint().empty());
  }
}

TEST_CASE("ID text: what is no ID in a form is refused with the greatest one in it") {
  const auto layout = leaf::Layout::parse("leaf");
  leaf::IdTemplate form("ORD-{id:hex}");
  CHECK_FALSE(form.read("ORD-12", layout));
  const leaf::Error error = id_error("ORD-12", layout, form);
  CHECK(std::string(error.what()) == "'ORD-12' is not an ID in the form 'ORD-{id:hex}'");
  CHECK(error.hint() == "the greatest ID of layout 'leaf' is 'ORD-7fffffffffffffff' in that form");
  CHECK(form.read("ORD-7fffffffffffffff", layout) == 9223372036854775807);
}
