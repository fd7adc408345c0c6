#include "c/handle.hpp"
#include "leaf/leaf.h"
#include "leaf/segment.hpp"
#include "leaf/store.hpp"

using leaf::SegmentAllocator;
using leaf::SegmentTag;

struct leaf_allocator {
  explicit leaf_allocator(Settings said)
      : settings(std::move(said)),
        shown(leaf::redact_url(settings.store.url)),
        allocator([this] { return make(); }) {}

  SegmentAllocator make() const {
    return SegmentAllocator(settings.store_of_this_process(),
                            leaf::SegmentOptions{.timeout = settings.timeout, .host = settings.host});
  }
  SegmentAllocator& get() {
    return allocator.get([this] { return make(); });
  }

  const Settings settings;
  const std::string shown;
  PerProcess<SegmentAllocator> allocator;
};

struct leaf_tag {
  leaf_tag(leaf_allocator& from, const char* called)
      : allocator(from), name(called), tag([this] { return make(); }) {}

  SegmentTag make() const { return allocator.get().tag(name); }
  SegmentTag& get() {
    return tag.get([this] { return make(); });
  }

  leaf_allocator& allocator;
  const leaf::TagName name;
  PerProcess<SegmentTag> tag;
};

namespace {

[[gnu::noinline]] leaf_status next_in_child(leaf_tag* tag, int64_t* id, leaf_error** error) {
  return guarded(error, [&] { *id = tag->get().next(); });
}

}  // namespace

leaf_allocator* leaf_allocator_open(const leaf_options* options, leaf_error** error) {
  return made(error, [&] { return std::make_unique<leaf_allocator>(leaf::c::settings_of(options)); });
}

void leaf_allocator_close(leaf_allocator* allocator) {
  delete allocator;
}

const char* leaf_allocator_store(const leaf_allocator* allocator) {
  return allocator->shown.c_str();
}

leaf_tag* leaf_allocator_tag(leaf_allocator* allocator, const char* name, leaf_error** error) {
  return made(error, [&] { return std::make_unique<leaf_tag>(*allocator, name); });
}

void leaf_tag_close(leaf_tag* tag) {
  delete tag;
}

// Without a closure, which would cost a third of the call.
leaf_status leaf_tag_next(leaf_tag* tag, int64_t* id, leaf_error** error) {
  SegmentTag* const here = tag->tag.find();
  if (here == nullptr) [[unlikely]]
    return next_in_child(tag, id, error);
  try {
    *id = here->next();
    return LEAF_OK;
  } catch (...) {
    return leaf::c::report(error);
  }
}

int leaf_tag_try_next(leaf_tag* tag, int64_t* id) {
  SegmentTag* const here = tag->tag.find();
  if (here == nullptr) [[unlikely]]
    return 0;
  try {
    return here->try_next(*id) ? 1 : 0;
  } catch (...) {  // the ID is lost, and leaf_tag_next() says why
    return 0;
  }
}

leaf_status leaf_tag_next_range(leaf_tag* tag, uint64_t at_most, leaf_range* range, leaf_error** error) {
  return guarded(error, [&] {
    if (at_most == 0) throw leaf::Error(leaf::ErrorCode::usage, "a range of no IDs was asked for");
    const leaf::Range drawn = tag->get().next_range(at_most);
    *range = {drawn.lo, drawn.hi};
  });
}

leaf_status leaf_tag_fill(leaf_tag* tag, int64_t* ids, size_t count, leaf_error** error) {
  return guarded(error, [&] { tag->get().next(std::span(ids, count)); });
}
