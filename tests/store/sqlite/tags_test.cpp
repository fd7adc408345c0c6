#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "support/error_of.hpp"
#include "support/sqlite_store.hpp"

using leaf::ErrorCode;
using leaf::NewTag;
using leaf::TagName;
using leaf::test::error_code;
using leaf::test::error_text;
using leaf::test::SqliteStore;

TEST_CASE("tag name: what the rule allows is taken, all else is refused by name") {
  CHECK(TagName("order").str() == "order");
  CHECK(TagName("A-z0.9_:x").str() == "A-z0.9_:x");
  CHECK(TagName(std::string(128, 'x')).str().size() == 128);
  for (const std::string& bad : {std::string(), std::string(129, 'x'), std::string("a b"), std::string("a'b"),
                                 std::string("a\nb"), std::string("a\0b", 3), std::string("\xc3\xa9")}) {
    CHECK(error_code([&] { TagName{bad}; }) == ErrorCode::usage);
  }
  // Nothing that moves a terminal's cursor comes back in the message.
  CHECK(error_text([] { TagName("a\x1b[2Jb"); }).find('\x1b') == std::string::npos);
}

TEST_CASE("tags: a new tag has the defaults, and its description, limit and start if given") {
  SqliteStore store;
  leaf::Store admin = store.open();
  const leaf::Tag plain = admin.add_tag({.name = TagName("plain")});
  CHECK(plain.next_id == 1);
  CHECK(plain.start == 1);
  CHECK(plain.step == leaf::default_step);
  CHECK_FALSE(plain.limit);
  CHECK(plain.incarnation.size() == 36);
  const leaf::Tag full = admin.add_tag(
      {.name = TagName("full"), .step = 5, .start = 100, .limit = 200, .description = "it's \"quoted\"\n"});
  CHECK(full.next_id == 100);
  CHECK(full.limit == 200);
  CHECK(full.description == "it's \"quoted\"\n");
  CHECK(full.incarnation != plain.incarnation);
  CHECK(admin.tags().size() == 2);
  CHECK(admin.tags()[0].name == "full");
}

TEST_CASE("tags: adding again is fine with the same values, and names both where they differ") {
  SqliteStore store;
  leaf::Store admin = store.open();
  const NewTag order{.name = TagName("order"), .step = 10, .start = 5, .limit = 100, .description = "orders"};
  const leaf::Tag added = admin.add_tag(order);
  admin.grant(TagName("order"), 7);
  const leaf::Tag again = admin.add_tag(order);
  CHECK(again.incarnation == added.incarnation);
  CHECK(again.next_id == 12);
  CHECK(admin.add_tag({.name = TagName("order")}).next_id == 12);

  const auto differing = [&](NewTag tag) { return error_text([&] { admin.add_tag(tag); }); };
  CHECK(differing({.name = TagName("order"), .step = 11}).find("step 10, not 11") != std::string::npos);
  CHECK(differing({.name = TagName("order"), .limit = 101}).find("limit 100, not 101") != std::string::npos);
  CHECK(differing({.name = TagName("order"), .start = 1}).find("up to 11: it cannot start at 1") !=
        std::string::npos);
  CHECK(differing({.name = TagName("order"), .start = 50}).find("start 5, not 50") != std::string::npos);
  CHECK(differing({.name = TagName("order"), .description = "x"}).find("'orders', not 'x'") !=
        std::string::npos);
  CHECK(error_code([&] { admin.add_tag({.name = TagName("order"), .step = 11}); }) == ErrorCode::failed);
}

TEST_CASE("tags: values out of bounds are refused before anything is stored") {
  SqliteStore store;
  leaf::Store admin = store.open();
  const auto refused = [&](NewTag tag) {
    return error_code([&] { admin.add_tag(tag); }) == ErrorCode::usage;
  };
  CHECK(refused({.name = TagName("t"), .step = 0}));
  CHECK(refused({.name = TagName("t"), .step = leaf::max_step + 1}));
  CHECK(refused({.name = TagName("t"), .start = -1}));
  CHECK(refused({.name = TagName("t"), .limit = leaf::past_max_id}));
  CHECK(refused({.name = TagName("t"), .start = 10, .limit = 9}));
  CHECK(refused({.name = TagName("t"), .description = std::string(257, 'x')}));
  for (const char* text : {"\xFF", "gr\xF6", "\xC0\x80", "\xED\xA0\x80", "a\xE2\x82"}) {
    CAPTURE(text);
    CHECK(refused({.name = TagName("t"), .description = text}));
  }
  CHECK(admin.tags().empty());
}

TEST_CASE("tags: an update changes what it names and nothing else") {
  SqliteStore store;
  leaf::Store admin = store.open();
  const TagName order("order");
  admin.add_tag({.name = order, .step = 10, .limit = 100, .description = "d"});
  const leaf::Tag before = admin.tag(order);
  leaf::Tag after = admin.update_tag(order, {.step = 20});
  CHECK(after.step == 20);
  CHECK(after.limit == 100);
  CHECK(after.description == "d");
  CHECK(after.incarnation == before.incarnation);
  CHECK(admin.update_tag(order, {.raise_to = 50}).next_id == 50);
  CHECK(admin.update_tag(order, {.raise_to = 40}).next_id == 50);
  CHECK_FALSE(admin.update_tag(order, {.remove_limit = true}).limit);
  CHECK(admin.update_tag(order, {.limit = 49}).limit == 49);
  CHECK(error_code([&] { admin.update_tag(order, {.limit = 48}); }) == ErrorCode::usage);
  CHECK(error_code([&] { admin.update_tag(order, {.raise_to = 51}); }) == ErrorCode::usage);
  CHECK(admin.update_tag(order, {.limit = 99, .raise_to = 100}).next_id == 100);
  CHECK(error_code([&] { admin.update_tag(TagName("none"), {.step = 1}); }) == ErrorCode::not_found);
}

TEST_CASE("tags: a removed tag is gone for everybody, and comes back as another one that goes on") {
  SqliteStore store;
  leaf::Store admin = store.open();
  const TagName order("order");
  const leaf::Tag first = admin.add_tag({.name = order});
  admin.grant(order, 500);
  admin.remove_tag(order);
  CHECK(admin.tags().empty());
  CHECK(error_code([&] { admin.tag(order); }) == ErrorCode::not_found);
  CHECK(error_code([&] { admin.grant(order, 1); }) == ErrorCode::not_found);
  CHECK(error_code([&] { admin.remove_tag(order); }) == ErrorCode::not_found);
  CHECK(error_code([&] { admin.add_tag({.name = order, .start = 500}); }) == ErrorCode::failed);
  CHECK(error_code([&] { admin.add_tag({.name = order, .limit = 500}); }) == ErrorCode::failed);
  const leaf::Tag again = admin.add_tag({.name = order, .step = 3});
  CHECK(again.next_id == 501);
  CHECK(again.step == 3);
  CHECK(again.incarnation != first.incarnation);
}

TEST_CASE("tags: a tag that may start later goes on where it ended before, else starts where it is told") {
  SqliteStore store;
  leaf::Store admin = store.open();
  const TagName order("order");
  const auto add = [&](std::int64_t start, std::optional<std::int64_t> limit = {}) {
    return admin.add_tag({.name = order, .start = start, .limit = limit, .or_later = true}).next_id;
  };
  CHECK(add(100) == 100);
  CHECK(add(50) == 100);
  CHECK(error_code([&] { add(101); }) == ErrorCode::failed);
  admin.grant(order, 50);
  admin.remove_tag(order);
  CHECK(add(120) == 150);
  admin.remove_tag(order);
  CHECK(add(1000) == 1000);
  // All IDs of the tag that is moved here were given out.
  CHECK(admin.add_tag({.name = TagName("full"), .start = 11, .limit = 10, .or_later = true}).next_id == 11);
  CHECK(error_code([&] { admin.grant(TagName("full"), 1); }) == ErrorCode::exhausted);
  CHECK(error_code([&] {
          admin.add_tag({.name = TagName("x"), .start = 12, .limit = 10, .or_later = true});
        }) == ErrorCode::usage);
  admin.remove_tag(TagName("full"));
  CHECK(error_code([&] { admin.add_tag({.name = TagName("full"), .limit = 10}); }) == ErrorCode::failed);
  const NewTag full{.name = TagName("full"), .start = 5, .limit = 10, .or_later = true};
  CHECK(admin.add_tag(full).next_id == 11);
  CHECK(admin.add_tag(full).next_id == 11);
  CHECK(admin.add_tag({.name = TagName("end"), .start = leaf::past_max_id}).next_id == leaf::past_max_id);
  CHECK(admin.add_tag({.name = TagName("end"), .start = leaf::past_max_id, .or_later = true}).next_id ==
        leaf::past_max_id);
  CHECK(error_code([&] {
          admin.add_tag({.name = TagName("y"), .start = leaf::past_max_id, .limit = leaf::max_id - 1});
        }) == ErrorCode::usage);
  CHECK(error_code([&] { admin.grant(TagName("end"), 1); }) == ErrorCode::exhausted);
  CHECK(error_code([&] { admin.grant_segment(TagName("end"), 1); }) == ErrorCode::exhausted);
  CHECK(admin.update_tag(order, {.raise_to = leaf::past_max_id}).next_id == leaf::past_max_id);
  CHECK(error_code([&] { admin.grant(order, 1); }) == ErrorCode::exhausted);
}

TEST_CASE(
    "tags: names that one may have been meant for are about as long or begin with it, and not too many") {
  SqliteStore store;
  leaf::Store admin = store.open();
  for (const char* name : {"order", "orders", "order-of-last-year", "invoice-of-last-year", "x"})
    admin.add_tag({.name = TagName(name)});
  admin.add_tag({.name = TagName("ordre")});
  admin.remove_tag(TagName("ordre"));
  auto names = admin.similar_tags(TagName("order"));
  std::ranges::sort(names);
  CHECK(names == std::vector<std::string>{"order", "order-of-last-year", "orders"});
  CHECK(admin.similar_tags(TagName("order"), 2).size() == 2);
}
