#include "store/window_length.hpp"

#include <fmt/format.h>

#include "layout/layout_text.hpp"
#include "leaf/error.hpp"
#include "text/duration_text.hpp"
#include "text/hint.hpp"

namespace leaf::store {

WorkerRequest with_whole_unit(WorkerRequest request, const Layout& layout) {
  const auto least = 2 * layout.unit();
  if (request.window >= least) return request;
  if (least > WorkerRequest().window) {
    throw Error(ErrorCode::usage,
                fmt::format("a window of {} is shorter than two units of layout '{}'",
                            text_of(request.window), layout.name()),
                fmt::format("set the window to {} or longer"_hint, text_of(least)));
  }
  request.window = least;
  return request;
}

}  // namespace leaf::store
