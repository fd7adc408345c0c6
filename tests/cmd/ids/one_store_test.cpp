#include "ids/one_store.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "leaf/error.hpp"
#include "support/error_of.hpp"

using leaf::test::error_code;
using leaf::test::error_text;

namespace {

/// What a name leads to.
struct Source {
  void lead_to(const std::string& deployment, const std::string& copy = "1") {
    identity = {.deployment = deployment, .copy = copy};
    ++changes;
  }
  leaf::StoreIdentity store() const { return identity; }
  std::uint64_t store_changes() const { return changes; }

  leaf::StoreIdentity identity{.deployment = "a", .copy = "1"};
  std::uint64_t changes = 0;
};

}  // namespace

TEST_CASE("one store: an output goes on with a copy of its deployment, and ends with another deployment") {
  leafctl::OneStore store;
  Source source;
  const auto draw = [&](std::int64_t count) { store.draw(source, count, [] {}); };
  draw(5);
  source.lead_to("a", "2");
  draw(7);
  source.lead_to("b", "2");
  CHECK(error_code([&] { draw(1); }) == leaf::ErrorCode::refused);
  CHECK(error_text([&] {
          draw(1);
        }).starts_with("the store is another one now; 12 IDs of the previous one were printed"));
}

TEST_CASE("one store: what was drawn while the name came to lead elsewhere is drawn anew") {
  leafctl::OneStore store;
  Source source;
  std::string drawn_from;
  // The first piece is of the former store, though it is looked at too late to know.
  store.draw(source, 1, [&] {
    drawn_from = source.identity.deployment;
    if (drawn_from == "a") source.lead_to("b");
  });
  CHECK(drawn_from == "b");
  source.lead_to("a");
  CHECK(error_code([&] { store.draw(source, 1, [] {}); }) == leaf::ErrorCode::refused);
}
