#pragma once

#include <optional>
#include <string>
#include <vector>

#include "doctor/check.hpp"
#include "leaf/host.hpp"
#include "leaf/store.hpp"
#include "settings/settings.hpp"

namespace leafctl {

/// What is buffered on this host, and what is to be said of the place where it lies.
struct HostFindings {
  std::vector<leaf::HostBuffer> buffers;
  Check folder;
};

/// Looks at the folder of `host`, if there is one. Makes nothing.
HostFindings look_at_host(const std::optional<leaf::HostOptions>& host, bool is_wanted);

/// Tells where no folder is used because the usual one belongs to another user.
Checks folder_checks(const std::string& used, const Environment& environment);

/// A store that answers, and what was found there.
struct AskedStore {
  leaf::StoreIdentity identity;
  std::vector<std::string> tags;  ///< by name
  Checks checks;
};

/// Judges the buffers whose last fetches failed. Of one from the store that was `asked` the next will do if
/// nothing was found that speaks against it. Of one from `store`, where that did not answer, its own check
/// says what helps.
Checks buffer_checks(const std::vector<leaf::HostBuffer>& buffers,
                     const std::optional<AskedStore>& asked = {},
                     const std::optional<leaf::StoreIdentity>& store = {});

/// Tells of files that held what this host remembers of grants.
Checks lost_mark_checks(const leaf::HostOptions& host);

/// Compares where the store's name leads with where this host believes it does, and has it go by the truth.
Checks name_checks(const std::string& url, const leaf::HostOptions& host, leaf::Store& store);

/// Finds the tags of which IDs were granted to this host, and which the store knows nothing of.
Checks lost_tag_checks(leaf::Store& store);

/// Finds the tags of which the store would grant IDs that were granted before: it has gone back. Those that
/// wait after a `failover` are judged once they have left out their guard.
Checks mark_checks(leaf::Store& store, const leaf::Failover& failover);

}  // namespace leafctl
