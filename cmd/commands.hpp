#pragma once

#include <span>

#include "cli/command.hpp"

namespace leafctl {

/// All commands, in the order in which the help lists them.
std::span<const CommandEntry> commands();

std::unique_ptr<Command> make_init_db();
std::unique_ptr<Command> make_add_tag();
std::unique_ptr<Command> make_tags_list();
std::unique_ptr<Command> make_tags_show();
std::unique_ptr<Command> make_tags_update();
std::unique_ptr<Command> make_tags_export();
std::unique_ptr<Command> make_tags_import();
std::unique_ptr<Command> make_tags_remove();
std::unique_ptr<Command> make_next();
std::unique_ptr<Command> make_workers_list();
std::unique_ptr<Command> make_workers_acquire();
std::unique_ptr<Command> make_workers_release();
std::unique_ptr<Command> make_workers_recycle();
std::unique_ptr<Command> make_failover_show();
std::unique_ptr<Command> make_failover_settle();
std::unique_ptr<Command> make_audit();
std::unique_ptr<Command> make_decode();
std::unique_ptr<Command> make_encode();
std::unique_ptr<Command> make_bounds();
std::unique_ptr<Command> make_bench_segment();
std::unique_ptr<Command> make_bench_snowflake();
std::unique_ptr<Command> make_bench_store();
std::unique_ptr<Command> make_bench_decode();
std::unique_ptr<Command> make_show_config();
std::unique_ptr<Command> make_serve();
std::unique_ptr<Command> make_status();
std::unique_ptr<Command> make_doctor();
std::unique_ptr<Command> make_log();
std::unique_ptr<Command> make_help();
std::unique_ptr<Command> make_complete();

}  // namespace leafctl
