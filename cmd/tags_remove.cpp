#include <fmt/format.h>
#include <unistd.h>

#include "commands.hpp"
#include "leaf/error.hpp"
#include "options.hpp"
#include "tag_record.hpp"

namespace leafctl {

namespace {

class TagsRemove : public Command {
 public:
  void setup(CLI::App& app) override {
    app.description(
        "Removes a tag, after asking on a terminal. Its IDs stay used: a tag of this name that is added "
        "later goes on "
        "where it ended.");
    add_tag_argument(app, name_, "the tag to remove");
    app.add_flag("--yes", yes_, "do not ask; required where there is no terminal");
    app.footer(
        "Example:\n"
        "  leafctl tags remove order --yes");
  }

  void run(Session& session) override {
    leaf::Store store = session.store();
    if (!yes_) ask(store, session.messages);
    store.remove_tag(*name_);
    session.messages.info(fmt::format("removed tag '{}'", name_->str()));
  }

 private:
  void ask(leaf::Store& store, Messages& messages) const {
    if (isatty(STDIN_FILENO) != 1 || !messages.is_terminal()) {
      throw leaf::Error(leaf::ErrorCode::usage,
                        fmt::format("removing tag '{}' has to be confirmed", name_->str()),
                        "say '--yes' where there is no terminal to ask on");
    }
    const leaf::Tag tag = store.tag(*name_);
    if (!messages.confirm(fmt::format("remove tag '{}' ({})?", tag.name, describe(tag)))) {
      throw leaf::Error(leaf::ErrorCode::failed, fmt::format("tag '{}' was not removed", tag.name));
    }
  }

  std::optional<leaf::TagName> name_;
  bool yes_ = false;
};

}  // namespace

std::unique_ptr<Command> make_tags_remove() {
  return std::make_unique<TagsRemove>();
}

}  // namespace leafctl
