#include "c/layout.hpp"

#include <memory>

#include "c/error.hpp"

using leaf::UnixTime;
using leaf::c::guarded;
using std::chrono::milliseconds;

leaf_layout* leaf_layout_parse(const char* text, leaf_error** error) {
  return leaf::c::made(error, [&] { return std::make_unique<leaf_layout>(leaf::Layout::parse(text)); });
}

void leaf_layout_free(leaf_layout* layout) {
  delete layout;
}

const char* leaf_layout_text(const leaf_layout* layout) {
  return layout->text.c_str();
}

leaf_status leaf_decode(const leaf_layout* layout, int64_t id, leaf_decoded* decoded, leaf_error** error) {
  return guarded(error, [&] {
    const leaf::DecodedId parts = layout->layout.decompose(id);
    *decoded = {parts.time.time_since_epoch().count(), parts.worker, parts.sequence};
  });
}

leaf_status leaf_encode(const leaf_layout* layout, const leaf_decoded* decoded, int64_t* id,
                        leaf_error** error) {
  return guarded(error, [&] {
    *id =
        layout->layout.compose(UnixTime(milliseconds(decoded->unix_ms)), decoded->worker, decoded->sequence);
  });
}

leaf_status leaf_bounds(const leaf_layout* layout, int64_t from_ms, int64_t to_ms, int64_t* first,
                        int64_t* last, leaf_error** error) {
  return guarded(error, [&] {
    const leaf::IdBounds bounds =
        layout->layout.bounds(UnixTime(milliseconds(from_ms)), UnixTime(milliseconds(to_ms)));
    *first = bounds.first;
    *last = bounds.last;
  });
}
