#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "leaf/leaf.h"
#include "support/sqlite_store.hpp"
#include "support/temporary_folder.hpp"

// Calls of leaf/leaf.h in any order, with any numbers and texts, on handles that are open or were never had:
// every call that fails says so by its status, its error has a text, and no ID comes twice or before one that
// was drawn.

namespace {

using leaf::fuzz::Choices;
using leaf::fuzz::complain;

/// One that the library knows, or any other without a zero byte.
std::string text_of(Choices& choices) {
  static const std::array<const char*, 8> known{"order",
                                                "short",
                                                "no tag",
                                                "",
                                                "leaf",
                                                "41,10,12",
                                                "time:39,sequence:8,machine:16/10ms@0",
                                                "sqlite:/nowhere/at/all"};
  const std::uint8_t choice = choices.byte();
  if (choice < known.size()) return known[choice];
  std::string text = choices.text();
  text.resize(std::min(text.size(), text.find('\0')));
  return text;
}

/// The place for an error, which is left out now and then.
class Place {
 public:
  explicit Place(Choices& choices) : is_there_(choices.byte() % 4 != 0) {}
  ~Place() { leaf_error_free(error_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  leaf_error** get() { return is_there_ ? &error_ : nullptr; }
  void check(leaf_status status) const {
    if (status < LEAF_OK || status > LEAF_EXHAUSTED) complain("a status that is none");
    if (!is_there_) return;
    if ((error_ != nullptr) != (status != LEAF_OK))
      complain("an error without a failure, or the other way round");
    if (error_ == nullptr) return;
    if (leaf_error_status(error_) != status) complain("the error has another status");
    if (std::strlen(leaf_error_text(error_)) == 0 || leaf_error_hint(error_) == nullptr)
      complain("an error without a text");
    if (leaf_error_is_retryable(error_) != (status == LEAF_UNAVAILABLE ? 1 : 0)) complain("retryable or not");
  }
  template <class Handle>
  Handle* checked(Handle* handle) const {
    if (is_there_ && (handle == nullptr) != (error_ != nullptr))
      complain("neither a handle nor an error, or both");
    return handle;
  }

 private:
  const bool is_there_;
  leaf_error* error_ = nullptr;
};

/// One store for all inputs, and what was drawn from it.
struct World {
  leaf::test::SqliteStore store;
  leaf::test::TemporaryFolder home;
  std::string url = store.options().url;
  std::string run = (home.path() / "run").string();
  std::map<std::string, std::int64_t> last;  // of a tag, from the host's buffer
  std::int64_t last_snowflake = -1;

  World() {
    leaf::Store admin = store.open();
    leaf::test::add_tag(admin, "order", 100'000);
    admin.add_tag({.name = leaf::TagName("short"), .limit = 10});
  }
  static World& the() {
    static World* const world = [] {
      std::atexit([] {
        std::error_code ignored;
        std::filesystem::remove_all(the().home.path(), ignored);
      });
      return new World;
    }();
    return *world;
  }
};

struct OpenTag {
  leaf_tag* handle;
  std::size_t allocator;
  std::string name;
};

/// All that is open at a time.
class Session {
 public:
  explicit Session(Choices& choices) : choices_(choices) {}
  ~Session() {
    for (const OpenTag& tag : tags_) leaf_tag_close(tag.handle);
    for (leaf_allocator* allocator : allocators_) leaf_allocator_close(allocator);
    for (leaf_generator* generator : generators_) leaf_generator_close(generator);
    for (leaf_layout* layout : layouts_) leaf_layout_free(layout);
    for (leaf_store* store : stores_) leaf_store_close(store);
    for (leaf_tag_list* list : lists_) leaf_tag_list_free(list);
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void step() {
    switch (choices_.byte() % 16) {
      case 0:
        open_allocator();
        break;
      case 1:
        open_tag();
        break;
      case 2:
      case 3:
        draw_one();
        break;
      case 4:
        draw_range();
        break;
      case 5:
        draw_many();
        break;
      case 6:
        open_generator();
        break;
      case 7:
        draw_snowflakes();
        break;
      case 8:
        parse_layout();
        break;
      case 9:
        take_apart();
        break;
      case 10:
        find_bounds();
        break;
      case 11:
        open_store();
        break;
      case 12:
        add_tag();
        break;
      case 13:
        list_tags();
        break;
      case 14:
        close_one();
        break;
      default:
        close_nothing();
        break;
    }
  }

 private:
  template <class Handle>
  Handle* any(const std::vector<Handle*>& handles) {
    const std::uint8_t choice = choices_.byte();
    return handles.empty() ? nullptr : handles[choice % handles.size()];
  }

  /// Those that the world is checked by come from the host's buffer of its store.
  leaf_options options() {
    leaf_options result{};
    result.size = sizeof result;
    result.use_host_defaults = LEAF_NO;
    result.store = World::the().url.c_str();
    result.runtime_dir = World::the().run.c_str();
    result.worker_name = "fuzzer";
    return result;
  }
  /// Now and then something else, which has to be refused or to work on another store.
  leaf_options spoilt_options(std::string& text) {
    leaf_options result = options();
    text = text_of(choices_);
    result.timeout_ms = -1;  // a store that it names by chance is asked once
    switch (choices_.byte() % 8) {
      case 0:
        result.size = static_cast<std::size_t>(choices_.byte()) % sizeof result;
        break;
      case 1:
        result.store = nullptr;
        break;
      case 2:
        result.store = text.c_str();
        break;
      case 3:
        result.host_buffer = choices_.byte();
        break;
      case 4:
        result.group = choices_.byte();
        break;
      case 5:
        result.layout = text.c_str();
        break;
      case 6:
        result.config_file = text.c_str();
        break;
      default:
        break;
    }
    return result;
  }

  void open_allocator() {
    if (allocators_.size() >= 4) return;
    Place error(choices_);
    std::string text;
    if (choices_.byte() % 4 == 0) {
      const leaf_options spoilt = spoilt_options(text);
      leaf_allocator_close(error.checked(leaf_allocator_open(&spoilt, error.get())));
      return;
    }
    const leaf_options good = options();
    if (auto* const opened = error.checked(leaf_allocator_open(&good, error.get()))) {
      if (World::the().url != leaf_allocator_store(opened)) complain("another store");
      allocators_.push_back(opened);
    } else {
      complain("an allocator was not opened");
    }
  }

  void open_tag() {
    if (allocators_.empty() || tags_.size() >= 8) return;
    const std::size_t allocator = choices_.byte() % allocators_.size();
    const std::string name = text_of(choices_);
    Place error(choices_);
    if (auto* const tag =
            error.checked(leaf_allocator_tag(allocators_[allocator], name.c_str(), error.get())))
      tags_.push_back({tag, allocator, name});
  }

  OpenTag* any_tag() { return tags_.empty() ? nullptr : &tags_[choices_.byte() % tags_.size()]; }

  static void drawn(const OpenTag& tag, std::int64_t first, std::int64_t last) {
    std::int64_t& known = World::the().last[tag.name];
    if (first <= known || last < first) complain("an ID was there before, or is out of order");
    known = last;
  }

  void draw_one() {
    OpenTag* const tag = any_tag();
    if (tag == nullptr) return;
    std::int64_t id = -1;
    if (choices_.byte() % 2 == 0) {
      if (leaf_tag_try_next(tag->handle, &id) != 0) drawn(*tag, id, id);
      return;
    }
    Place error(choices_);
    const leaf_status status = leaf_tag_next(tag->handle, &id, error.get());
    error.check(status);
    if (status == LEAF_OK) drawn(*tag, id, id);
  }

  void draw_range() {
    OpenTag* const tag = any_tag();
    if (tag == nullptr) return;
    leaf_range range{};
    const auto at_most = static_cast<std::uint64_t>(choices_.number()) % 100'000;
    Place error(choices_);
    const leaf_status status = leaf_tag_next_range(tag->handle, at_most, &range, error.get());
    error.check(status);
    if (status != LEAF_OK) return;
    if (static_cast<std::uint64_t>(range.hi - range.lo) > at_most) complain("more IDs than were asked for");
    drawn(*tag, range.lo, range.hi - 1);
  }

  void draw_many() {
    OpenTag* const tag = any_tag();
    if (tag == nullptr) return;
    std::vector<std::int64_t> ids(choices_.byte());
    Place error(choices_);
    const leaf_status status = leaf_tag_fill(tag->handle, ids.data(), ids.size(), error.get());
    error.check(status);
    if (status != LEAF_OK) return;
    for (const std::int64_t id : ids) drawn(*tag, id, id);
  }

  void open_generator() {
    if (generators_.size() >= 2) return;
    Place error(choices_);
    std::string text;
    if (choices_.byte() % 4 == 0) {
      const leaf_options spoilt = spoilt_options(text);
      leaf_generator_close(error.checked(leaf_generator_open(&spoilt, error.get())));
      return;
    }
    const leaf_options good = options();
    if (auto* const opened = error.checked(leaf_generator_open(&good, error.get())))
      generators_.push_back(opened);
  }

  void draw_snowflakes() {
    leaf_generator* const generator = any(generators_);
    if (generator == nullptr) return;
    std::vector<std::int64_t> ids(1 + choices_.byte() % 100U);
    Place error(choices_);
    leaf_status status = LEAF_OK;
    switch (choices_.byte() % 3) {
      case 0:
        if (leaf_generator_try_next(generator, ids.data()) == 0) return;
        ids.resize(1);
        break;
      case 1:
        status = leaf_generator_next(generator, ids.data(), error.get());
        ids.resize(1);
        break;
      default:
        status = leaf_generator_fill(generator, ids.data(), ids.size(), error.get());
        break;
    }
    error.check(status);
    if (status != LEAF_OK) return;
    for (const std::int64_t id : ids) {
      if (id <= World::the().last_snowflake) complain("a snowflake was there before, or is out of order");
      World::the().last_snowflake = id;
    }
    std::int64_t worker = -1;
    error.check(leaf_generator_worker(generator, &worker, error.get()));
    if (leaf_layout* const layout = leaf_generator_layout(generator, nullptr)) {
      leaf_decoded decoded{};
      if (leaf_decode(layout, ids.back(), &decoded, nullptr) != LEAF_OK || decoded.worker != worker)
        complain("a snowflake of another worker");
      leaf_layout_free(layout);
    }
  }

  void parse_layout() {
    if (layouts_.size() >= 8) return;
    const std::string text = text_of(choices_);
    Place error(choices_);
    leaf_layout* const layout = error.checked(leaf_layout_parse(text.c_str(), error.get()));
    if (layout == nullptr) return;
    layouts_.push_back(layout);
    leaf_layout* const again = leaf_layout_parse(leaf_layout_text(layout), nullptr);
    if (again == nullptr || std::strcmp(leaf_layout_text(again), leaf_layout_text(layout)) != 0)
      complain("the text of a layout is none");
    leaf_layout_free(again);
  }

  void take_apart() {
    const leaf_layout* const layout = any(layouts_);
    if (layout == nullptr) return;
    std::int64_t id = choices_.number();
    leaf_decoded decoded{};
    Place error(choices_);
    if (choices_.byte() % 2 == 0) {
      decoded = {choices_.number(), choices_.number(), choices_.number()};
      const leaf_status status = leaf_encode(layout, &decoded, &id, error.get());
      error.check(status);
      if (status != LEAF_OK) return;
    }
    Place of_decoding(choices_);
    const leaf_status status = leaf_decode(layout, id, &decoded, of_decoding.get());
    of_decoding.check(status);
    if (status != LEAF_OK) return;
    std::int64_t again = -1;
    if (leaf_encode(layout, &decoded, &again, nullptr) != LEAF_OK || again != id)
      complain("an ID that is taken apart and put together is another one");
  }

  void find_bounds() {
    const leaf_layout* const layout = any(layouts_);
    if (layout == nullptr) return;
    const std::int64_t from = choices_.number();
    const std::int64_t to = choices_.number();
    std::int64_t first = 0;
    std::int64_t last = 0;
    Place error(choices_);
    const leaf_status status = leaf_bounds(layout, from, to, &first, &last, error.get());
    error.check(status);
    if (status == LEAF_OK && first > last) complain("bounds the wrong way round");
  }

  void open_store() {
    if (stores_.size() >= 2) return;
    std::string text;
    const leaf_options said = choices_.byte() % 4 == 0 ? spoilt_options(text) : options();
    Place error(choices_);
    if (auto* const store = error.checked(leaf_store_open(&said, error.get()))) stores_.push_back(store);
  }

  void add_tag() {
    leaf_store* const store = any(stores_);
    if (store == nullptr) return;
    const std::string name = text_of(choices_);
    const std::string description = text_of(choices_);
    leaf_new_tag tag{};
    tag.size = choices_.byte() % 8 == 0 ? choices_.byte() % sizeof tag : sizeof tag;
    tag.name = choices_.byte() % 8 == 0 ? nullptr : name.c_str();
    tag.description = choices_.byte() % 2 == 0 ? nullptr : description.c_str();
    tag.step = choices_.number();
    tag.start = choices_.number();
    tag.limit = choices_.number();
    Place error(choices_);
    error.check(leaf_store_add_tag(store, &tag, error.get()));
  }

  void list_tags() {
    leaf_store* const store = any(stores_);
    if (store == nullptr || lists_.size() >= 4) return;
    const std::string name = text_of(choices_);
    Place error(choices_);
    leaf_tag_list* const list =
        error.checked(choices_.byte() % 2 == 0 ? leaf_store_tags(store, error.get())
                                               : leaf_store_tag(store, name.c_str(), error.get()));
    if (list == nullptr) return;
    lists_.push_back(list);
    for (std::size_t i = 0; i < leaf_tag_list_size(list); ++i) {
      const leaf_tag_info* const tag = leaf_tag_list_at(list, i);
      if (std::strlen(tag->name) == 0 || tag->description == nullptr || tag->step < 1)
        complain("a tag that is none");
    }
  }

  void close_one() {
    switch (choices_.byte() % 6) {
      case 0:
        if (!tags_.empty()) {
          leaf_tag_close(tags_.back().handle);
          tags_.pop_back();
        }
        break;
      case 1:
        if (!allocators_.empty() && (tags_.empty() || tags_.back().allocator != allocators_.size() - 1)) {
          for (const OpenTag& tag : tags_) {
            if (tag.allocator == allocators_.size() - 1) return;
          }
          leaf_allocator_close(allocators_.back());
          allocators_.pop_back();
        }
        break;
      case 2:
        pop(generators_, leaf_generator_close);
        break;
      case 3:
        pop(layouts_, leaf_layout_free);
        break;
      case 4:
        pop(stores_, leaf_store_close);
        break;
      default:
        pop(lists_, leaf_tag_list_free);
        break;
    }
  }
  template <class Handle>
  static void pop(std::vector<Handle*>& handles, void (*close)(Handle*)) {
    if (handles.empty()) return;
    close(handles.back());
    handles.pop_back();
  }

  static void close_nothing() {
    leaf_error_free(nullptr);
    leaf_allocator_close(nullptr);
    leaf_tag_close(nullptr);
    leaf_generator_close(nullptr);
    leaf_layout_free(nullptr);
    leaf_store_close(nullptr);
    leaf_tag_list_free(nullptr);
  }

  Choices& choices_;
  std::vector<leaf_allocator*> allocators_;
  std::vector<OpenTag> tags_;
  std::vector<leaf_generator*> generators_;
  std::vector<leaf_layout*> layouts_;
  std::vector<leaf_store*> stores_;
  std::vector<leaf_tag_list*> lists_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  Session session(choices);
  for (int i = 0; i < 200 && choices.are_left(); ++i) session.step();
  return 0;
}
