#include "commands.hpp"

namespace leafctl {

std::span<const CommandEntry> commands() {
  static constexpr CommandEntry all[] = {
      {"init-db", "create the store's tables, or bring them up to date", make_init_db},
      {"add-tag", "add a tag, which is a sequence of IDs", make_add_tag},
      {"tags", "list, show, change, move and remove tags", nullptr},
      {"tags list", "list tags", make_tags_list},
      {"tags show", "show one tag", make_tags_show},
      {"tags update", "change a tag's step, limit or description, or raise its IDs", make_tags_update},
      {"tags export", "print tags as a file", make_tags_export},
      {"tags import", "add and raise the tags of a file, such as Leaf's", make_tags_import},
      {"tags remove", "remove a tag for good", make_tags_remove},
      {"next", "print new IDs", make_next},
      {"status", "print what this host has buffered", make_status},
      {"doctor", "tell whether all is well, and until when", make_doctor},
      {"log", "print who changed tags and freed workers, and when", make_log},
      {"workers", "list, take and free the workers of snowflake IDs", nullptr},
      {"workers list", "list workers", make_workers_list},
      {"workers acquire", "lease a worker", make_workers_acquire},
      {"workers release", "free what this host holds", make_workers_release},
      {"workers recycle", "free what others do not use any more", make_workers_recycle},
      {"failover", "settle what waits after a change of the database's server", nullptr},
      {"failover show", "show what waits, and what was left out", make_failover_show},
      {"failover settle", "end the wait", make_failover_settle},
      {"decode", "print the time, worker and sequence that IDs hold", make_decode},
      {"encode", "print the ID of a time, worker and sequence", make_encode},
      {"bounds", "print the first and last ID of a stretch of time", make_bounds},
      {"bench", "measure how fast IDs are drawn, granted and decoded", nullptr},
      {"bench segment", "IDs of a tag, drawn from memory", make_bench_segment},
      {"bench snowflake", "snowflake IDs, beside the layout's ceiling", make_bench_snowflake},
      {"bench store", "grants of the store", make_bench_store},
      {"bench decode", "snowflake IDs taken apart", make_bench_decode},
      {"show-config", "print each setting with its origin", make_show_config},
      {"help", "print help on a command", make_help},
      {.name = "complete",
       .summary = "list what may stand next in a command line, for shells",
       .make = make_complete,
       .hidden = true},
  };
  return all;
}

}  // namespace leafctl
