#include "doctor/host_checks.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "leaf/detail/shell_word.hpp"
#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

namespace fs = std::filesystem;
using leaf::HostBuffer;

constexpr const char* check_name = "host_buffer";
constexpr const char* elsewhere =
    "name another one with --runtime-dir, or go without with --no-host-buffer"_hint;

/// A folder that the first call is going to make.
Check check_place_for(const std::string& folder) {
  const fs::path parent = fs::path(folder).parent_path();
  const auto cannot = [&](const std::string& why) -> Check {
    return {check_name, CheckState::failed, fmt::format("folder '{}' cannot be made: {}", folder, why),
            elsewhere};
  };
  if (access(parent.c_str(), F_OK) != 0) {
    Check check = cannot(fmt::format("there is no '{}'", parent.string()));
    check.hint = fmt::format("run 'mkdir -p {}', or name another one with --runtime-dir"_hint,
                             leaf::detail::shell_word(parent.string()));
    return check;
  }
  if (access(parent.c_str(), W_OK | X_OK) != 0)
    return cannot(fmt::format("this user may not write in '{}'", parent.string()));
  if (!leaf::is_local_file_system(parent))
    return cannot(fmt::format("'{}' is not on a local file system", parent.string()));
  return {check_name, CheckState::ok, fmt::format("nothing yet; the first call makes '{}'", folder)};
}

std::string subject(const HostBuffer& buffer) {
  return buffer.kind == HostBuffer::Kind::tag ? fmt::format("tag '{}'", buffer.name)
                                              : fmt::format("the worker of '{}'", buffer.name);
}

}  // namespace

HostFindings look_at_host(const std::optional<leaf::HostOptions>& host, bool is_wanted) {
  if (!is_wanted) return {{}, {check_name, CheckState::ok, "not used: each call asks the store"}};
  if (!host) {
    return {
        {},
        {check_name, CheckState::warning, "there is no local file system for it, so each call asks the store",
         "name a folder on one with --runtime-dir, or choose --no-host-buffer"_hint}};
  }
  try {
    if (const auto why = leaf::why_no_host_marks(*host)) throw leaf::Error(*why);
    HostFindings found{.buffers = leaf::host_buffers(*host), .folder = {}};
    struct stat folder {};
    if (stat(host->folder.c_str(), &folder) != 0) {
      found.folder = check_place_for(host->folder);
    } else {
      found.folder = {.name = check_name,
                      .detail = fmt::format("{} buffer{} in '{}', of mode {:04o}, on a local file system",
                                            found.buffers.size(), found.buffers.size() == 1 ? "" : "s",
                                            host->folder, folder.st_mode & 07777),
                      .measures = {{"buffers", static_cast<std::int64_t>(found.buffers.size())}}};
    }
    return found;
  } catch (const leaf::Error& error) {
    return {{}, {check_name, CheckState::failed, error.what(), error.hint()}};
  }
}

Checks folder_checks(const std::string& used, const Surroundings& surroundings) {
  const std::string usual = usual_runtime_dir(surroundings);
  if (usual.empty() || !belongs_to_another(usual, surroundings) || used != own_runtime_dir(surroundings))
    return {};
  return {
      {check_name, CheckState::warning,
       fmt::format("'{}' belongs to another user, so the buffers are in '{}'", usual, used),
       fmt::format("have root run 'install -d -m 0700 -o {0} /run/leafctl-{0}'"_hint, surroundings.user_id)}};
}

Checks buffer_checks(const std::vector<HostBuffer>& buffers) {
  Checks checks;
  for (const HostBuffer& buffer : buffers) {
    if (buffer.damaged) {
      checks.push_back(
          {check_name, CheckState::warning,
           fmt::format("the buffer of {} from store '{}': {}", subject(buffer), buffer.store, buffer.failure),
           buffer.failure_hint});
    }
    if (buffer.failures == 0) continue;
    checks.push_back(
        {check_name,
         CheckState::warning,
         fmt::format("the last {} of {} from store '{}' failed: {}",
                     buffer.failures == 1 ? "fetch" : fmt::format("{} fetches", buffer.failures),
                     subject(buffer), buffer.store, buffer.failure),
         buffer.failure_hint.empty()
             ? fmt::format("ask that store what is wrong: 'leafctl doctor --store \"{}\"'"_hint, buffer.store)
             : buffer.failure_hint,
         buffer.name,
         {{"failures", std::int64_t{buffer.failures}}}});
  }
  return checks;
}

Checks lost_mark_checks(const leaf::HostOptions& host) {
  Checks checks;
  for (const leaf::Error& lost : leaf::lost_host_marks(host)) {
    checks.push_back(
        {check_name, CheckState::warning,
         fmt::format("this host has forgotten how far a tag or worker was granted, and would not notice a "
                     "store that was put back: {}",
                     lost.what()),
         lost.hint()});
  }
  return checks;
}

Checks name_checks(const std::string& url, const leaf::HostOptions& host, leaf::Store& store) {
  std::optional<leaf::StoreIdentity> former;
  try {
    former = leaf::refresh_store_name(url, host, store);
  } catch (const leaf::Error&) {
    return {};  // another check tells what is wrong with the folder
  }
  if (!former) return {};
  const std::string seen =
      former->deployment == store.identity().deployment
          ? fmt::format("the store's name led to another copy of deployment {} until now", former->deployment)
          : fmt::format("the store's name led to deployment {} until now", former->deployment);
  return {{check_name, CheckState::warning, seen + "; from now on this host draws from the one it leads to",
           "if the name was not to lead elsewhere, set it right"_hint}};
}

Checks mark_checks(leaf::Store& store, const leaf::StoreHealth& health) {
  Checks checks;
  // Under a pending guard the next grant leaves out what may have been granted.
  if (health.guard && health.guard->tags_ahead > 0) return checks;
  for (const leaf::Tag& tag : store.tags()) {
    if (!leaf::TagName::is_valid(tag.name)) continue;
    const std::int64_t mark = store.granted_mark(leaf::TagName(tag.name));
    if (tag.next_id >= mark) continue;
    const std::string arguments = tag.name.starts_with('-')
                                      ? fmt::format("--raise-to {} -- {}", mark, tag.name)
                                      : fmt::format("{} --raise-to {}", tag.name, mark);
    checks.push_back(
        {"tags",
         CheckState::failed,
         fmt::format("tag '{}' would grant IDs from {} on, which this host knows to be granted up "
                     "to {}: the store has gone back",
                     tag.name, tag.next_id, mark - 1),
         fmt::format("run 'leafctl tags update {}', with a higher number where 'leafctl doctor' names one on "
                     "another host: what others have buffered counts too; if this is a copy beside the "
                     "original, 'leafctl init-db --new-deployment' tells it from that one"_hint,
                     arguments),
         tag.name,
         {{"ids_behind", mark - tag.next_id}}});
  }
  return checks;
}

}  // namespace leafctl
