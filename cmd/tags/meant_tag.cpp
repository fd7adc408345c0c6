#include "tags/meant_tag.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "leaf/detail/nearest.hpp"
#include "leaf/store.hpp"
#include "tags/tag_record.hpp"
#include "terminal/remedy_text.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

/// Nobody waits longer for a better hint.
constexpr std::chrono::milliseconds patience{1000};

std::string near_tag(const leaf::TagName& name, const Session& session) {
  leaf::StoreOptions options = session.store_options();
  options.timeout = std::min(options.timeout, patience);
  std::vector<std::string> names = leaf::Store(options).similar_tags(name);
  // The same name is of one that somebody has added meanwhile.
  std::erase_if(names, [&](const std::string& one) { return one == name.str() || !is_tag_name(one); });
  std::ranges::sort(names);
  return leaf::detail::nearest(name.str(), names);
}

/// Not one that the store has lost, which comes back by being added.
bool was_never_there(const leaf::Error& error) {
  return std::ranges::any_of(error.remedies(), [](const leaf::Remedy& remedy) {
    return remedy.kind == leaf::Remedy::Kind::add_tag && !remedy.number;
  });
}

}  // namespace

leaf::Error with_meant_tag(const leaf::Error& error, const leaf::TagName& name, const Session& session,
                           NewTag new_tag) {
  const bool asks = error.code() == leaf::ErrorCode::not_found && !session.messages.is_quiet() &&
                    session.output.format() == OutputFormat::text;
  if (!asks) return error;
  try {
    const std::string near = near_tag(name, session);
    if (near.empty()) {
      if (new_tag == NewTag::proposed || !was_never_there(error)) return error;
      return {error.code(), error.what(), "see which there are with 'leafctl tags list'"_hint,
              error.sqlstate()};
    }
    std::string hint = fmt::format("did you mean '{}'?"_hint, near);
    if (new_tag == NewTag::proposed && !error.hint().empty()) hint += " otherwise " + hint_text(error);
    return {error.code(), error.what(), hint, error.sqlstate()};
  } catch (const leaf::Error&) {
    return error;
  }
}

}  // namespace leafctl
