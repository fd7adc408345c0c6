#include "leaf/id_form.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "support/usage_error.hpp"

using leaf::IdTemplate;

namespace {

constexpr std::int64_t id = 1256557484213448722;
const leaf::Layout layout = leaf::Layout::parse("leaf");
const leaf::UnixTime time_of_id = layout.time_of(id);

std::string written(const std::string& form, std::int64_t number = id, leaf::UnixTime time = time_of_id) {
  std::string text;
  IdTemplate(form).append(number, time, text);
  return text;
}

std::string error_of(const std::string& form) {
  return leaf::test::hinted_usage_error([&] { const IdTemplate parsed(form); });
}

}  // namespace

TEST_CASE("ID template: padding, base, date and text are as they are asked for") {
  const std::pair<std::string, std::string> forms[] = {
      {"{id}", "42"},
      {"ORD-{date:%Y%m%d}-{id:>012}", "ORD-20200502-000000000042"},
      {"{id:012}", "000000000042"},
      {"[{id:>12}]", "[          42]"},
      {"{id:>1}", "42"},
      {"{id:dec}", "42"},
      {"{id:hex}", "000000000000002a"},
      {"{id:base32}", "000000000001A"},
      {"{id:base62}", "0000000000g"},
      {"{id:>04hex}", "002a"},
      {"{id:>4hex}", "  2a"},
      {"{date}{id}", "2020050242"},
      {"{id} {date:%F %T}", "42 2020-05-02 12:13:44"},
      {"{date:%y %j %H:%M:%S %d/%m %%}{id}", "20 123 12:13:44 02/05 %42"},
      {"{{{id}}}", "{42}"},
      {"größe {id}", "größe 42"},
  };
  for (const auto& pair : forms) {
    CAPTURE(pair.first);
    CHECK(written(pair.first, 42) == pair.second);
  }
}

TEST_CASE("ID template: the date follows the time of each ID") {
  IdTemplate form("{date:%T} {id}");
  std::string text;
  form.append(1, leaf::UnixTime(std::chrono::milliseconds(1999)), text);
  form.append(2, leaf::UnixTime(std::chrono::milliseconds(2000)), text);
  form.append(3, leaf::UnixTime(std::chrono::milliseconds(1000)), text);
  CHECK(text == "00:00:01 100:00:02 200:00:01 3");
}

TEST_CASE("ID template: every form of a snowflake ID is read back") {
  for (const std::string text :
       {"{id}", "{id:>019}", "{id:>30}", "{id:>030}", "{id:hex}", "{id:base32}", "{id:base62}",
        "{id:>1base62}", "A{id}Z", "1{id}2", "{date}{id}{date:%T}", "{{{id}}}"}) {
    CAPTURE(text);
    IdTemplate form(text);
    CHECK(form.read(written(text), layout) == id);
    CHECK(form.read(written(text, 0, layout.epoch()), layout) == 0);
  }
}

TEST_CASE("ID template: base32 and hex are read in either case, the text around them is not") {
  CHECK(IdTemplate("{id:hex}").read("1170305FD666B012", layout) == id);
  CHECK(IdTemplate("{id:base32}").read("12w1gbzb6dcoj", layout) == id);
  CHECK(IdTemplate("{id:base62}").read("1UP2TABQZWQ", layout) != id);
  CHECK_FALSE(IdTemplate("ord-{id:hex}").read("ORD-1170305fd666b012", layout));
}

TEST_CASE("ID template: a text that was cut, lengthened or changed is refused") {
  for (const std::string text :
       {"{id:hex}", "{id:base62}", "ORD-{date:%Y%m%d}-{id:>020}", "{id:>025}!", "{id:>25}"}) {
    CAPTURE(text);
    IdTemplate form(text);
    const std::string whole = written(text);
    CHECK_FALSE(form.read(whole.substr(1), layout));
    CHECK_FALSE(form.read(whole.substr(0, whole.size() - 1), layout));
    CHECK_FALSE(form.read(whole + " ", layout));
    CHECK_FALSE(form.read(whole + "0", layout));
    CHECK_FALSE(form.read("0" + whole, layout));
    CHECK_FALSE(form.read(" " + whole, layout));
    CHECK_FALSE(form.read("", layout));
  }
  CHECK_FALSE(IdTemplate("{date}-{id}").read("20200503-1256557484213448722", layout));
  CHECK_FALSE(IdTemplate("{id}").read("01256557484213448722", layout));
  CHECK_FALSE(IdTemplate("{id}").read("9223372036854775808", layout));
  CHECK_FALSE(IdTemplate("{id:hex}").read("1000000000000000", leaf::Layout::parse("baidu:20+4+4")));
}

TEST_CASE("ID template: what cannot be a form says why") {
  const std::pair<std::string, std::string> wrong[] = {
      {"", "template '' has no {id}: every ID would look the same"},
      {"ORD", "template 'ORD' has no {id}: every ID would look the same"},
      {"{date}", "template '{date}' has no {id}: every ID would look the same"},
      {"{id}{id}", "template '{id}{id}' has {id} twice"},
      {"{id", "template '{id' has a '{' without its other half"},
      {"id}", "template 'id}' has a '}' without its other half"},
      {"{}", "template '{}' has an unknown field '{}'"},
      {"{ID}", "template '{ID}' has an unknown field '{ID}'"},
      {"{tag}-{id}", "template '{tag}-{id}' has an unknown field '{tag}'"},
      {"{id:base64}", "unknown ID format '{id:base64}'"},
      {"{id:<12}", "unknown ID format '{id:<12}'"},
      {"{id:>0}", "unknown ID format '{id:>0}'"},
      {"{id:>065}", "unknown ID format '{id:>065}'"},
      {"{id:>99999999999999999999}", "unknown ID format '{id:>99999999999999999999}'"},
      {"{id:-5}", "unknown ID format '{id:-5}'"},
      {"{date:%B}{id}", "'{date:%B}' has an unknown conversion"},
      {"{date:%}{id}", "'{date:%}' has an unknown conversion"},
      {"{id}\n", "template '{id}\n' has a control character"},
      {"{id}\t", "template '{id}\t' has a control character"},
  };
  for (const auto& [form, error] : wrong) CHECK(error_of(form) == error);
}
