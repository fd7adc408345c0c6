#include "leaf/store.hpp"

#include <limits>
#include <mutex>
#include <vector>

#include "c/handle.hpp"
#include "c/versioned_struct.hpp"
#include "leaf/leaf.h"

using leaf::Store;
using leaf::Tag;
using leaf::TagName;

static_assert(LEAF_MAX_ID == leaf::max_id && LEAF_MAX_STEP == leaf::max_step);

namespace {

/// What one thread at a time may use. Both are of one process: a mutex that is locked at a fork stays so.
struct LockedStore {
  explicit LockedStore(const Settings& settings) : store(settings.store_of_this_process()) {}

  std::mutex mutex;
  Store store;
};

}  // namespace

struct leaf_store {
  explicit leaf_store(Settings said)
      : settings(std::move(said)), of_this_process([this] { return LockedStore(settings); }) {}

  template <class Use>
  auto with_store(Use&& use) {
    LockedStore& locked = of_this_process.get([this] { return LockedStore(settings); });
    const std::lock_guard lock(locked.mutex);
    return use(locked.store);
  }

  const Settings settings;
  PerProcess<LockedStore> of_this_process;
};

struct leaf_tag_list {
  explicit leaf_tag_list(std::vector<Tag> found) : tags(std::move(found)) {
    for (const Tag& tag : tags) {
      infos.push_back(
          {.name = tag.name.c_str(),
           .description = tag.description.c_str(),
           .next_id = tag.next_id,
           .step = tag.step,
           .start = tag.start.value_or(1),
           .limit = tag.limit.value_or(leaf::max_id),
           .updated_ms = tag.updated_at.time_since_epoch().count(),
           .granted_ms = tag.granted_at ? tag.granted_at->time_since_epoch().count() : INT64_MIN});
    }
  }

  const std::vector<Tag> tags;
  std::vector<leaf_tag_info> infos;
};

namespace {

leaf::NewTag new_tag_of(const leaf_new_tag& given) {
  const leaf_new_tag tag = leaf::c::known_part(given, "leaf_new_tag");
  if (tag.name == nullptr) throw leaf::Error(leaf::ErrorCode::usage, "leaf_new_tag has no name");
  const auto if_said = [](std::int64_t value) {
    return value == 0 ? std::nullopt : std::optional<std::int64_t>(value);
  };
  leaf::NewTag result{.name = TagName(tag.name)};
  result.step = if_said(tag.step);
  result.start = if_said(tag.start);
  result.limit = if_said(tag.limit);
  if (tag.description != nullptr) result.description = tag.description;
  return result;
}

}  // namespace

leaf_store* leaf_store_open(const leaf_options* options, leaf_error** error) {
  return made(error, [&] { return std::make_unique<leaf_store>(leaf::c::settings_of(options)); });
}

void leaf_store_close(leaf_store* store) {
  delete store;
}

leaf_status leaf_store_add_tag(leaf_store* store, const leaf_new_tag* tag, leaf_error** error) {
  return guarded(error, [&] {
    const leaf::NewTag added = new_tag_of(*tag);
    store->with_store([&](Store& open) { open.add_tag(added); });
  });
}

leaf_tag_list* leaf_store_tag(leaf_store* store, const char* name, leaf_error** error) {
  return made(error, [&] {
    const TagName wanted(name);
    return std::make_unique<leaf_tag_list>(
        store->with_store([&](Store& open) { return std::vector<Tag>{open.tag(wanted)}; }));
  });
}

leaf_tag_list* leaf_store_tags(leaf_store* store, leaf_error** error) {
  return made(error, [&] {
    return std::make_unique<leaf_tag_list>(store->with_store([](Store& open) { return open.tags(); }));
  });
}

size_t leaf_tag_list_size(const leaf_tag_list* list) {
  return list->infos.size();
}

const leaf_tag_info* leaf_tag_list_at(const leaf_tag_list* list, size_t index) {
  return &list->infos[index];
}

void leaf_tag_list_free(leaf_tag_list* list) {
  delete list;
}
