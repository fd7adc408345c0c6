#include "host/failure_advice.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <string>

using leaf::Advice;
using leaf::Remedy;
using leaf::host::failure_advice;
using leaf::host::set_failure_advice;
using leaf::host::SharedState;

namespace {

Advice advice_of(std::string hint, std::vector<Remedy> remedies) {
  Advice advice = std::move(hint);
  advice.remedies = std::move(remedies);
  return advice;
}

}  // namespace

TEST_CASE("failure advice: what a hint proposes reaches the other processes of a host") {
  const auto state = std::make_unique<SharedState>();
  CHECK(failure_advice(*state).remedies.empty());
  const Advice noted = advice_of("raise it, or release it",
                                 {{.kind = Remedy::Kind::raise_tag, .name = "a:b-c", .number = 4711, .at = 8},
                                  {.kind = Remedy::Kind::release_workers, .name = "it's me", .at = 23},
                                  {.kind = Remedy::Kind::check_store, .at = 23}});
  set_failure_advice(*state, noted);
  CHECK(failure_advice(*state).hint == noted.hint);
  CHECK(failure_advice(*state).remedies == noted.remedies);
  set_failure_advice(*state, "try again");
  CHECK(failure_advice(*state).hint == "try again");
  CHECK(failure_advice(*state).remedies.empty());
}

TEST_CASE("failure advice: to the hint of an earlier program belongs nothing that a later one proposed") {
  const auto state = std::make_unique<SharedState>();
  set_failure_advice(*state, advice_of("create it", {{.kind = Remedy::Kind::create_store, .at = 9}}));
  state->fetch.failure_hint.set("free some space there");
  CHECK(failure_advice(*state).hint == "free some space there");
  CHECK(failure_advice(*state).remedies.empty());
}

TEST_CASE("failure advice: what finds no room is left out, the rest is kept") {
  const auto state = std::make_unique<SharedState>();
  const Remedy small{.kind = Remedy::Kind::choose_worker, .at = 2};
  const Remedy long_name{.kind = Remedy::Kind::add_tag, .name = std::string(600, 'x'), .at = 2};
  const Remedy two_lines{.kind = Remedy::Kind::add_tag, .name = "a\n3 0 - b", .at = 2};
  set_failure_advice(*state, advice_of("do", {long_name, small, two_lines}));
  CHECK(failure_advice(*state).remedies == std::vector{small});
  // A hint that was cut has no place for words that stood behind its end.
  set_failure_advice(*state, advice_of(std::string(300, 'x'), {{.kind = small.kind, .at = 290}, small}));
  CHECK(failure_advice(*state).hint.size() == 256);
  CHECK(failure_advice(*state).remedies == std::vector{small});
}
