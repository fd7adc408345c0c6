#include "commands.hpp"

namespace leafctl {

std::span<const CommandEntry> commands() {
  static constexpr CommandEntry all[] = {
      {"init-db", "create the store, or upgrade it", make_init_db},
      {"add-tag", "add a tag: an independent sequence of IDs", make_add_tag},
      {"tags", "list, show, change, move and remove tags", nullptr},
      {"tags list", "list tags", make_tags_list},
      {"tags show", "show one tag", make_tags_show},
      {"tags update", "change a tag's step, limit or description, or raise its next ID", make_tags_update},
      {"tags export", "export tags as YAML or CSV", make_tags_export},
      {"tags import", "import tags from a file, such as a dump of Leaf's table", make_tags_import},
      {"tags remove", "remove a tag; its IDs stay used", make_tags_remove},
      {"next", "print new IDs", make_next},
      {"serve", "serve IDs over HTTP and Redis' protocol", make_serve},
      {"status", "show what this host has buffered", make_status},
      {"doctor", "check health, and forecast what will run out", make_doctor},
      {"log", "show who changed tags and freed workers, and when", make_log},
      {"workers", "list, acquire, release and recycle the workers of snowflake IDs", nullptr},
      {"workers list", "list workers", make_workers_list},
      {"workers acquire", "lease a worker", make_workers_acquire},
      {"workers release", "free this host's workers", make_workers_release},
      {"workers recycle", "free workers that their owners no longer use", make_workers_recycle},
      {"failover", "resume after a database failover or restore", nullptr},
      {"failover show", "show what is waiting, and which IDs were left out", make_failover_show},
      {"failover settle", "end the wait", make_failover_settle},
      {"decode", "show the time, worker and sequence in snowflake IDs", make_decode},
      {"encode", "compose a snowflake ID from a time, worker and sequence", make_encode},
      {"bounds", "print the first and last snowflake ID of a time range", make_bounds},
      {"audit", "look for repeats, shared workers and gaps in IDs of any system", make_audit},
      {"bench", "measure how fast IDs are drawn, granted and decoded", nullptr},
      {"bench segment", "draw IDs of a tag from memory", make_bench_segment},
      {"bench snowflake", "make snowflake IDs, compared with the layout's ceiling", make_bench_snowflake},
      {"bench store", "grant segments from the store", make_bench_store},
      {"bench decode", "decode snowflake IDs", make_bench_decode},
      {"show-config", "show each setting and where it comes from", make_show_config},
      {"help", "show help for a command", make_help},
      {.name = "complete",
       .summary = "complete a command line, for shells",
       .make = make_complete,
       .hidden = true},
  };
  return all;
}

}  // namespace leafctl
