#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "c/c_store.hpp"
#include "leaf/layout.hpp"

using leaf::test::add_tag;
using leaf::test::CStore;
using leaf::test::Failure;

namespace {

/// The layouts that have all fields, and one whose time does not come first.
const std::vector<std::string> layouts{"leaf",
                                       "twitter",
                                       "baidu",
                                       "41,10,12",
                                       "time:39,sequence:8,machine:16/10ms@1409529600000",
                                       "machine:10,time:41,sequence:12"};

}  // namespace

TEST_CASE("C: the IDs of a tag, one, a run, and many") {
  CStore store;
  add_tag(store.admin, "order", 10);
  const auto allocator = store.allocator();
  const auto tag = store.tag(allocator, "order");
  std::int64_t id = 0;
  REQUIRE(leaf_tag_next(tag.get(), &id, nullptr) == LEAF_OK);
  CHECK(id == 1);
  leaf_range range{};
  REQUIRE(leaf_tag_next_range(tag.get(), 3, &range, nullptr) == LEAF_OK);
  CHECK(range.lo == 2);
  CHECK(range.hi == 5);
  std::vector<std::int64_t> ids(20);
  REQUIRE(leaf_tag_fill(tag.get(), ids.data(), ids.size(), nullptr) == LEAF_OK);
  for (std::size_t i = 0; i < ids.size(); ++i) CHECK(ids[i] == static_cast<std::int64_t>(i) + 5);
  CHECK(std::string(leaf_allocator_store(allocator.get())) == store.file.options().url);
  CHECK(leaf_tag_fill(tag.get(), nullptr, 0, nullptr) == LEAF_OK);
}

TEST_CASE("C: processes that name one folder draw from one buffer") {
  CStore store;
  add_tag(store.admin, "order", 10);
  const auto one = store.allocator();
  const auto other = store.allocator();
  const auto first = store.tag(one, "order");
  const auto second = store.tag(other, "order");
  for (std::int64_t expected = 1; expected <= 30; ++expected) {
    std::int64_t id = 0;
    REQUIRE(leaf_tag_next(expected % 2 == 0 ? first.get() : second.get(), &id, nullptr) == LEAF_OK);
    CHECK(id == expected);
  }
}

TEST_CASE("C: an error says what was wrong, what helps, and whether to try again") {
  CStore store;
  add_tag(store.admin, "order", 10);
  store.admin.add_tag({.name = leaf::TagName("short"), .limit = 2});
  const auto allocator = store.allocator();
  Failure failure;
  std::int64_t id = 0;

  CHECK(leaf_allocator_tag(allocator.get(), "no tag", failure.place()) == nullptr);
  CHECK(failure.status() == LEAF_USAGE);
  CHECK(failure.text().find("no tag") != std::string::npos);

  const auto missing = store.tag(allocator, "ordr");
  CHECK(leaf_tag_next(missing.get(), &id, failure.place()) == LEAF_NOT_FOUND);
  CHECK(failure.status() == LEAF_NOT_FOUND);
  CHECK(failure.text() == "tag 'ordr' does not exist");
  CHECK_FALSE(failure.hint().empty());
  CHECK_FALSE(failure.is_retryable());

  const auto tag = store.tag(allocator, "short");
  std::vector<std::int64_t> ids(3);
  CHECK(leaf_tag_fill(tag.get(), ids.data(), ids.size(), failure.place()) == LEAF_EXHAUSTED);
  CHECK(failure.status() == LEAF_EXHAUSTED);
  leaf_range range{};
  CHECK(leaf_tag_next_range(tag.get(), 0, &range, failure.place()) == LEAF_USAGE);

  // Nobody has to ask.
  CHECK(leaf_tag_next(missing.get(), &id, nullptr) == LEAF_NOT_FOUND);

  leaf_options options = store.options();
  options.store = "postgresql://127.0.0.1:1/ids";
  options.timeout_ms = -1;
  const std::unique_ptr<leaf_allocator, CStore::Close> away(leaf_allocator_open(&options, failure.place()));
  REQUIRE(away != nullptr);
  const std::unique_ptr<leaf_tag, CStore::Close> remote(
      leaf_allocator_tag(away.get(), "order", failure.place()));
  const leaf_status status =
      remote == nullptr ? failure.status() : leaf_tag_next(remote.get(), &id, failure.place());
  CHECK(status == LEAF_UNAVAILABLE);
  CHECK(failure.is_retryable());
}

TEST_CASE("C: options of another version, and such as make no sense") {
  CStore store;
  Failure failure;
  const auto is_refused = [&](const leaf_options* options) {
    const std::unique_ptr<leaf_allocator, CStore::Close> opened(
        leaf_allocator_open(options, failure.place()));
    return opened == nullptr && failure.status() == LEAF_USAGE;
  };
  leaf_options options = store.options();
  CHECK_FALSE(is_refused(&options));
  options.size = 0;
  CHECK(is_refused(&options));
  CHECK(failure.text() == "leaf_options has no size that it can have");
  options.size = offsetof(leaf_options, store) + 4;  // half of a pointer would be taken for one
  CHECK(is_refused(&options));

  // A header of before knows the first members alone.
  options = store.options();
  options.size = offsetof(leaf_options, worker_name);
  CHECK_FALSE(is_refused(&options));

  // One of later knows more: what it leaves at 0 is nothing to this library.
  struct Later {
    leaf_options known;
    std::int64_t more;
  } later{store.options(), 0};
  later.known.size = sizeof later;
  CHECK_FALSE(is_refused(&later.known));
  later.more = 1;
  CHECK(is_refused(&later.known));
  CHECK(failure.hint().find("later release") != std::string::npos);

  options = store.options();
  options.host_buffer = 7;
  CHECK(is_refused(&options));
  options = store.options();
  options.store = nullptr;
  CHECK(is_refused(&options));
  options = store.options();
  options.runtime_dir = nullptr;
  CHECK_FALSE(is_refused(&options));
  options.host_buffer = LEAF_YES;
  CHECK(is_refused(&options));
  options = store.options();
  options.config_file = "/dev/null";
  CHECK(is_refused(&options));
  options = store.options();
  options.layout = "41,10";
  CHECK_FALSE(is_refused(&options));
  options.layout = "nonsense";
  CHECK(is_refused(&options));
}

TEST_CASE("C: the longest timeout there is, is long") {
  CStore store;
  add_tag(store.admin, "order", 10);
  leaf_options options = store.options();
  options.timeout_ms = INT64_MAX;
  const auto allocator = CStore::allocator(options);
  const auto tag = CStore::tag(allocator, "order");
  std::int64_t id = 0;
  CHECK(leaf_tag_next(tag.get(), &id, nullptr) == LEAF_OK);
  CHECK(id == 1);
  CHECK(leaf_generator_next(CStore::generator(options).get(), &id, nullptr) == LEAF_OK);
}

TEST_CASE("C: snowflakes increase, and hold what the generator says") {
  CStore store;
  Failure failure;
  const auto generator = store.generator();
  const std::unique_ptr<leaf_layout, CStore::Close> layout(leaf_generator_layout(generator.get(), nullptr));
  REQUIRE(layout != nullptr);
  CHECK(std::string(leaf_layout_text(layout.get())) == leaf::Layout::parse("leaf").text());
  std::int64_t worker = -1;
  REQUIRE(leaf_generator_worker(generator.get(), &worker, nullptr) == LEAF_OK);
  std::vector<std::int64_t> ids(10'000);
  for (std::size_t i = 0; i < 1000; ++i)
    REQUIRE(leaf_generator_next(generator.get(), &ids[i], nullptr) == LEAF_OK);
  REQUIRE(leaf_generator_fill(generator.get(), &ids[1000], ids.size() - 1000, nullptr) == LEAF_OK);
  for (std::size_t i = 1; i < ids.size(); ++i) REQUIRE(ids[i] > ids[i - 1]);
  leaf_decoded decoded{};
  REQUIRE(leaf_decode(layout.get(), ids[0], &decoded, nullptr) == LEAF_OK);
  CHECK(decoded.worker == worker);
  CHECK(decoded.worker == store.admin.workers().at(0).id);

  leaf_options options = store.options();
  options.layout = "twitter:41,5,5,12/1ms@0";
  CHECK(leaf_generator_open(&options, failure.place()) == nullptr);
  CHECK(failure.status() == LEAF_USAGE);
}

TEST_CASE("C: layouts take apart and put together as in C++") {
  std::mt19937_64 random(1);
  for (const std::string& text : layouts) {
    CAPTURE(text);
    const std::unique_ptr<leaf_layout, CStore::Close> layout(leaf_layout_parse(text.c_str(), nullptr));
    REQUIRE(layout != nullptr);
    const auto known = leaf::Layout::parse(text);
    CHECK(std::string(leaf_layout_text(layout.get())) == known.text());
    for (int i = 0; i < 1000; ++i) {
      const auto id = static_cast<std::int64_t>(random() >> 1);
      leaf_decoded decoded{};
      const leaf_status status = leaf_decode(layout.get(), id, &decoded, nullptr);
      REQUIRE((status == LEAF_OK) == known.holds(id));
      if (status != LEAF_OK) continue;
      const leaf::DecodedId parts = known.decompose(id);
      CHECK(decoded.unix_ms == parts.time.time_since_epoch().count());
      CHECK(decoded.worker == parts.worker);
      CHECK(decoded.sequence == parts.sequence);
      std::int64_t again = 0;
      REQUIRE(leaf_encode(layout.get(), &decoded, &again, nullptr) == LEAF_OK);
      CHECK(again == id);
    }
  }
  Failure failure;
  CHECK(leaf_layout_parse("41,10,13", failure.place()) == nullptr);
  CHECK(failure.status() == LEAF_USAGE);
  const std::unique_ptr<leaf_layout, CStore::Close> leaf(leaf_layout_parse("leaf", nullptr));
  const leaf_decoded wrong{.unix_ms = 1'700'000'000'000, .worker = 1024, .sequence = 0};
  std::int64_t id = 0;
  CHECK(leaf_encode(leaf.get(), &wrong, &id, failure.place()) == LEAF_USAGE);
  const leaf_decoded early{.unix_ms = 0, .worker = 0, .sequence = 0};
  CHECK(leaf_encode(leaf.get(), &early, &id, failure.place()) == LEAF_EXHAUSTED);
  std::int64_t first = 0;
  std::int64_t last = 0;
  REQUIRE(leaf_bounds(leaf.get(), 1'700'000'000'000, 1'700'000'001'000, &first, &last, nullptr) == LEAF_OK);
  const auto bounds =
      leaf::Layout::parse("leaf").bounds(leaf::UnixTime(std::chrono::milliseconds(1'700'000'000'000)),
                                         leaf::UnixTime(std::chrono::milliseconds(1'700'000'001'000)));
  CHECK(first == bounds.first);
  CHECK(last == bounds.last);
  CHECK(leaf_bounds(leaf.get(), 1'700'000'001'000, 1'700'000'000'000, &first, &last, failure.place()) ==
        LEAF_USAGE);
}

TEST_CASE("C: what there is not is closed and freed without harm") {
  leaf_error_free(nullptr);
  leaf_tag_close(nullptr);
  leaf_allocator_close(nullptr);
  leaf_generator_close(nullptr);
  leaf_layout_free(nullptr);
  CHECK(std::string(leaf_version()) == "0.1.0");
}
