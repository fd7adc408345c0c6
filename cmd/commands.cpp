#include "commands.hpp"

namespace leafctl {

std::span<const CommandEntry> commands() {
  static constexpr CommandEntry all[] = {
      {"init-db", "create the store's tables, or bring them up to date", make_init_db},
      {"add-tag", "add a tag, which is a sequence of IDs", make_add_tag},
      {"tags", "list, show, change and remove tags", nullptr},
      {"tags list", "list all tags", make_tags_list},
      {"tags show", "show one tag", make_tags_show},
      {"tags update", "change a tag's step, limit or description, or raise its IDs", make_tags_update},
      {"tags remove", "remove a tag for good", make_tags_remove},
      {"next", "print new IDs", make_next},
      {"decode", "print the time, worker and sequence that IDs hold", make_decode},
      {"encode", "print the ID of a time, worker and sequence", make_encode},
      {"bounds", "print the first and last ID of a stretch of time", make_bounds},
      {"show-config", "print each setting with its origin", make_show_config},
      {"help", "print help on a command", make_help},
  };
  return all;
}

}  // namespace leafctl
