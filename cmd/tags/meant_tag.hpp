#pragma once

#include "cli/command.hpp"
#include "leaf/error.hpp"
#include "leaf/tag.hpp"

namespace leafctl {

/// What else a command proposes for a tag that does not exist.
enum class NewTag { proposed, left_out };

/// `error`; but where it says that tag `name` does not exist, and a tag's name is near, its hint begins with
/// that one. If none is, and no new tag is proposed, it names the command that lists them. Asks the store, a
/// short time at most; not where `session` is quiet or prints JSON.
leaf::Error with_meant_tag(const leaf::Error& error, const leaf::TagName& name, const Session& session,
                           NewTag new_tag = NewTag::left_out);

/// Runs `work` on the tag `name`, and throws its errors as with_meant_tag() has them.
template <class Work>
auto on_tag(const leaf::TagName& name, const Session& session, Work work) {
  try {
    return work();
  } catch (const leaf::Error& error) {
    throw with_meant_tag(error, name, session);
  }
}

}  // namespace leafctl
