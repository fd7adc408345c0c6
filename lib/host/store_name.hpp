#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "host/folder.hpp"
#include "host/state_file.hpp"
#include "leaf/layout.hpp"
#include "leaf/store.hpp"
#include "leaf/store_identity.hpp"

namespace leaf::host {

/// A name of a store, and what this host knows of where it leads to: a buffer belongs to a store, by whatever
/// name it is reached. What is known of a SQLite store is kept under the name of its file, which links lead
/// to as they are at that moment, and counts for that file alone. Thread safe.
class StoreName {
 public:
  /// Throws Error (usage) if `url` is none.
  StoreName(const std::string& url, const HostOptions& options);

  /// The URL without secrets; of a SQLite store, as links lead now.
  std::string shown() const { return look().shown; }
  /// The same for `store`, to which the name led when it was asked: a link may have been turned since.
  std::string shown_for(const StoreIdentity& store) const;

  /// What the files that the name goes through look like: another one when one was changed or replaced.
  struct Stamp {
    std::uint64_t files = 0;    ///< which files they are
    std::uint64_t changes = 0;  ///< and when each was last changed
    std::uint64_t value() const noexcept;
  };
  Stamp stamp() const { return look().stamp; }
  /// When the store was asked, and what the files looked like and the host knew then.
  struct Question {
    Stamp stamp;
    UnixTime at;
    std::optional<StoreIdentity> led_to{};
  };
  /// That before `store` is asked, which then speaks of what these files lead to: a connection does not that
  /// was opened before one of them changed, or that leads to another store than this host has learned since.
  Question ask(const Folder& folder, Store& store, UnixTime now) const;

  struct Known {
    StoreIdentity store;
    /// Nobody has asked for a while whether that is still so: an entry of the DNS, a tunnel or a database may
    /// lead elsewhere by now.
    bool check_is_due = false;
  };
  /// Where the name led when somebody of this host asked last; none if nobody did, or if one of the files
  /// that it goes through has changed since.
  std::optional<Known> look_up(const Folder& folder, UnixTime now) const;

  /// Whether a file that the name goes through has been changed or replaced since it led to `store`. One that
  /// is not there leads nowhere else.
  bool visibly_leads_elsewhere(const Folder& folder, const StoreIdentity& store) const;

  /// True if the caller is to check now: nobody else does for a while, whatever comes of it.
  bool claim_check(const Folder& folder, UnixTime now) const;
  /// Remembers that the name leads to `store`, the answer to `question`. False, and nothing is, if it leads
  /// to another file by now, if the answer to a later question named another store or this host has learned
  /// since the question that it leads elsewhere, or if there is no room.
  bool note(const Folder& folder, const StoreIdentity& store, const Question& question,
            const std::function<UnixTime()>& now) const;
  void forget(const Folder& folder) const;
  /// Where the name led last, whatever has changed since.
  std::optional<StoreIdentity> led_to(const Folder& folder) const;
  /// As led_to(); else, for a SQLite path, where it led under another mount, whose volume may be away.
  std::optional<StoreIdentity> led_to_anywhere(const Folder& folder) const;

 private:
  /// What the name stands for at one moment.
  struct Place {
    std::string shown;
    std::string digest;  ///< empty: nothing tells which file is meant
    Stamp stamp{};
    std::string copy{};  ///< of the SQLite file that is there; empty if there is none
  };

  bool is_sqlite() const noexcept { return !path_.empty(); }
  Place look() const;
  /// As look(), of a SQLite file: where every link on the way leads.
  Place follow() const;
  /// False if the name is one of another file.
  bool is_of(const StoreIdentity& store, const Place& place) const;
  static FileKey key(const Place& place);
  static std::shared_ptr<StateFile> find(const Folder& folder, const Place& place);

  std::string path_;                ///< of a SQLite file
  std::vector<std::string> files_;  ///< that another name goes through, or may go through
  bool is_by_service_ = false;      ///< it does
  Place first_;                     ///< where the name stood when this was made
};

}  // namespace leaf::host
