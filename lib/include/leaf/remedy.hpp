#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leaf {

/// A step that an Error's hint proposes, for a program to name in its own words: a command, a button, a call.
struct Remedy {
  /// What to do. `name` and `number` are set where they mean something. New kinds come last, because the
  /// values are stored in files that programs of several versions read.
  enum class Kind : std::uint8_t {
    allow_more_time,      ///< StoreOptions::timeout, or that of the call
    allow_more_skew,      ///< WorkerRequest::max_skew
    choose_store,         ///< StoreOptions::url; name: such as "sqlite:PATH"
    create_store,         ///< Store::migrate()
    upgrade_store,        ///< Store::migrate()
    adopt_objects,        ///< Store::migrate(), given what Store::foreign_objects() says
    look_at_objects,      ///< Store::foreign_objects()
    grant_role,           ///< Store::grant_runtime_role(), called by the owner of the tables
    check_store,          ///< Store::health(), which names what is in the way; number: the process that has
                          ///< locked a file, 0 if it is not one of this host
    check_settings,       ///< where the program gets the store's URL and the layout from
    add_tag,              ///< Store::add_tag(); name: the tag; number: its start, if it needs one
    change_step,          ///< Store::update_tag(); name: the tag; number: the step, if it is known
    change_limit,         ///< likewise; number: the limit, if it is known
    change_description,   ///< likewise
    raise_tag,            ///< likewise; number: the least next ID that it should have
    look_at_tag,          ///< Store::granted_mark() on other hosts; name: the tag
    list_workers,         ///< Store::workers()
    recycle_worker,       ///< Store::recycle_worker(); number: the worker, if it is known
    force_recycling,      ///< likewise, by force
    release_workers,      ///< Store::release_workers(); name: the owner
    choose_worker,        ///< WorkerRequest::worker; number: the worker, if it is known
    choose_owner,         ///< WorkerRequest::owner
    choose_worker_range,  ///< Store::set_worker_range()
    settle_failover,      ///< Store::settle_failover() with Commits::all_there, if that is so
    look_at_failover,     ///< Store::failover()
    choose_host_folder,   ///< HostOptions::folder
    do_without_host,      ///< no HostOptions: each process fetches for itself
    set_layout,           ///< Store::set_layout(); name: the layout, if it is known
    share_host,           ///< HostOptions::group
  };

  Kind kind;
  std::string name{};
  std::optional<std::int64_t> number{};
  /// Where in the hint a program's own words go: the number of bytes before them. "create it" and 9 let a
  /// program say "create it by pressing F2".
  std::size_t at = 0;

  friend bool operator==(const Remedy&, const Remedy&) = default;
};

/// What the reader of an Error can do about it.
struct Advice {
  std::string hint;                ///< one line without a final stop, or empty; names no program's options
  std::vector<Remedy> remedies{};  ///< that the hint proposes, in its order

  Advice() = default;
  Advice(std::string text) : hint(std::move(text)) {}  // NOLINT(google-explicit-constructor)
  Advice(const char* text) : hint(text) {}             // NOLINT(google-explicit-constructor)
};

}  // namespace leaf
