#include "tags/granted_marks.hpp"

#include <fmt/format.h>

#include <utility>

#include "terminal/remedy_text.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

std::vector<leaf::Error> missing_marks(const Session& session) {
  if (session.settings().runtime_dir.empty()) {
    return {{leaf::ErrorCode::usage, "there is no folder in memory for its record",
             "name one on tmpfs with --runtime-dir; 'leafctl doctor' says why there is none"_hint}};
  }
  const leaf::HostOptions host = session.host_options();
  if (const auto why = leaf::why_no_host_marks(host)) return {*why};
  return leaf::lost_host_marks(host);
}

void warn(const std::vector<leaf::Error>& missing, Messages& messages) {
  for (const leaf::Error& why : missing) {
    messages.warning(
        fmt::format("this host keeps no record of its grants, so it cannot detect a restored store: {}",
                    why.what()),
        hint_text(why));
  }
}

}  // namespace

void warn_of_missing_marks(Session& session) {
  warn(missing_marks(session), session.messages);
}

leaf::StoreOptions MissingMarks::store_options() {
  leaf::StoreOptions options = session_.store_options();
  options.while_asked = [this] {
    look();
    return nullptr;
  };
  return options;
}

void MissingMarks::look() {
  const std::lock_guard lock(mutex_);
  is_asked_ = true;
  if (!std::exchange(has_looked_, true)) found_ = missing_marks(session_);
}

void MissingMarks::report() {
  const std::lock_guard lock(mutex_);
  if (has_warned_ || !std::exchange(is_asked_, false)) return;
  // Buffers may have taken the last room that there was for the record.
  if (found_.empty()) found_ = missing_marks(session_);
  has_warned_ = !found_.empty();
  warn(found_, session_.messages);
}

}  // namespace leafctl
