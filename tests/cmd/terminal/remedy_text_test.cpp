#include "terminal/remedy_text.hpp"

#include <doctest/doctest.h>

using leaf::Remedy;
using leafctl::hint_text;
using Kind = leaf::Remedy::Kind;

TEST_CASE("remedy text: commands stand where the hint speaks of them") {
  CHECK(hint_text("try again, or allow more time; see who holds a lock",
                  {{.kind = Kind::allow_more_time, .at = 29}, {.kind = Kind::check_store, .at = 51}}) ==
        "try again, or allow more time with --timeout; see who holds a lock with 'leafctl doctor'");
  CHECK(hint_text("try again", {}) == "try again");
  CHECK(hint_text(leaf::Error(leaf::ErrorCode::failed, "it failed")).empty());
  // What another process has left, and was cut there.
  CHECK(hint_text("ab", {{.kind = Kind::check_store, .at = 99}, {.kind = Kind::list_workers, .at = 0}}) ==
        "ab with 'leafctl doctor' with 'leafctl workers list'");
  CHECK(hint_text("ab", {{.kind = static_cast<Kind>(250), .at = 1}}) == "ab");
}

TEST_CASE("remedy text: a command names what the remedy does") {
  const auto words = [](Kind kind, const char* name, std::optional<std::int64_t> number) {
    return hint_text("", {{.kind = kind, .name = name, .number = number}});
  };
  CHECK(words(Kind::add_tag, "order", {}) == " with 'leafctl add-tag order'");
  CHECK(words(Kind::add_tag, "order", 7) == " with 'leafctl add-tag order --start 7'");
  CHECK(words(Kind::add_tag, "", {}) == " with 'leafctl add-tag TAG --start ID'");
  // It would be taken for an option.
  CHECK(words(Kind::add_tag, "-odd", {}) == " with 'leafctl add-tag -- -odd'");
  CHECK(words(Kind::raise_tag, "-odd", 7) == " with 'leafctl tags update --raise-to 7 -- -odd'");
  CHECK(words(Kind::change_limit, "order", {}) == " with 'leafctl tags update order --limit ID'");
  CHECK(words(Kind::recycle_worker, "", 5) == " with 'leafctl workers recycle 5'");
  CHECK(words(Kind::recycle_worker, "", {}) == " with 'leafctl workers recycle WORKER'");
  CHECK(words(Kind::release_workers, "it's me", {}) ==
        R"( with 'leafctl workers release --worker-name "it's me"')");
}
