#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "host/folder.hpp"
#include "host/state_file.hpp"
#include "leaf/layout.hpp"
#include "leaf/store_identity.hpp"

namespace leaf::host {

/// A name of a store, and what this host knows of where it leads to: a buffer belongs to a store, by whatever
/// name it is reached. Thread safe.
class StoreName {
 public:
  /// Throws Error (usage) if `url` is none.
  StoreName(const std::string& url, const HostOptions& options);

  /// The URL without secrets.
  const std::string& shown() const noexcept { return shown_; }

  /// What the files that the name goes through look like: another one when one was changed or replaced.
  struct Stamp {
    std::uint64_t files = 0;    ///< which files they are
    std::uint64_t changes = 0;  ///< and when each was last changed
    std::uint64_t value() const noexcept;
  };
  Stamp stamp() const;

  struct Known {
    StoreIdentity store;
    /// Nobody has asked for a while whether that is still so: an entry of the DNS, a tunnel or a database may
    /// lead elsewhere by now.
    bool check_is_due = false;
  };
  /// Where the name led when somebody of this host asked last; none if nobody did, or if one of the files
  /// that it goes through has changed since.
  std::optional<Known> look_up(const Folder& folder, UnixTime now) const;

  /// True if the caller is to check now: nobody else does for a while, whatever comes of it.
  bool claim_check(const Folder& folder, UnixTime now) const;
  /// Remembers that the name leads to `store`, asked after `before` was taken.
  void note(const Folder& folder, const StoreIdentity& store, const Stamp& before, UnixTime now) const;
  void forget(const Folder& folder) const;
  /// Where the name led last, whatever has changed since.
  std::optional<StoreIdentity> led_to(const Folder& folder) const;

 private:
  std::shared_ptr<StateFile> find(const Folder& folder) const;
  FileKey key() const;

  std::string shown_;
  std::string digest_;
  std::vector<std::string> files_;
  bool leads_elsewhere_unseen_ = true;  ///< false: the files tell all
};

}  // namespace leaf::host
