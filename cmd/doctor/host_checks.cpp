#include "doctor/host_checks.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "leaf/detail/counted.hpp"
#include "leaf/detail/shell_word.hpp"
#include "leaf/error.hpp"
#include "tags/tag_command.hpp"
#include "terminal/hint_text.hpp"
#include "terminal/remedy_text.hpp"
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
    return {check_name, CheckState::failed, fmt::format("folder '{}' cannot be created: {}", folder, why),
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
  if (!leaf::is_file_system_in_memory(parent))
    return cannot(fmt::format("'{}' is not on a file system in memory (tmpfs)", parent.string()));
  return {check_name, CheckState::ok, fmt::format("nothing yet; the first call creates '{}'", folder)};
}

std::string subject(const HostBuffer& buffer) {
  return buffer.kind == HostBuffer::Kind::tag ? fmt::format("tag '{}'", buffer.name)
                                              : fmt::format("the worker of '{}'", buffer.name);
}

/// Whether what a check found keeps the next fetch from succeeding.
bool concerns(const Check& check, const HostBuffer& buffer) {
  if (check.state != CheckState::failed) return false;
  if (!check.subject.empty()) return check.subject == buffer.name;
  if (buffer.kind == HostBuffer::Kind::worker) return check.name != "tags";
  // Where another server came it may be that only workers wait.
  if (check.name == "identity") return check.measures != Measures{{"tags_ahead", std::int64_t{0}}};
  return check.name != "clock" && check.name != "layout" && check.name != "workers";
}

/// What helps, if that can be said here: the commands of a hint are completed with the store that was asked,
/// and what is right for one store may be wrong for another.
std::string hint_for(const HostBuffer& buffer, const std::optional<AskedStore>& asked,
                     const std::optional<leaf::StoreIdentity>& store) {
  const std::string hint = hint_text(buffer.failure_hint, buffer.failure_remedies);
  const bool has_command = hint.find("'leafctl ") != std::string::npos;
  if (!hint.empty() && (!has_command || (asked && buffer.is_of(asked->identity)))) return hint;
  if (!asked && store && buffer.is_of(*store)) return {};
  return hint_for_store("ask that store what is wrong: 'leafctl doctor'"_hint, buffer.store);
}

/// Whether what its last fetch failed of is over.
bool is_mended(const HostBuffer& buffer, const AskedStore& asked) {
  if (!buffer.is_of(asked.identity)) return false;
  if (buffer.kind == HostBuffer::Kind::tag && std::ranges::find(asked.tags, buffer.name) == asked.tags.end())
    return false;
  return std::ranges::none_of(asked.checks, [&](const Check& check) { return concerns(check, buffer); });
}

}  // namespace

HostFindings look_at_host(const std::optional<leaf::HostOptions>& host, bool is_wanted) {
  if (!is_wanted) return {{}, {check_name, CheckState::ok, "not used: each call asks the store"}};
  if (!host) {
    return {
        {},
        {check_name, CheckState::warning, "there is no folder in memory for it, so each call asks the store",
         "name one on tmpfs with --runtime-dir, or choose --no-host-buffer"_hint}};
  }
  try {
    struct stat folder {};
    if (lstat(host->folder.c_str(), &folder) != 0) {
      Check place = check_place_for(host->folder);
      const auto why = place.state == CheckState::ok ? leaf::why_no_host_marks(*host) : std::nullopt;
      if (why) throw leaf::Error(*why);
      return {{}, std::move(place)};
    }
    if (const auto why = leaf::why_no_host_marks(*host)) throw leaf::Error(*why);
    HostFindings found{.buffers = leaf::host_buffers(*host), .folder = {}};
    found.folder = {
        .name = check_name,
        .detail = fmt::format("{} buffer{} in '{}', of mode {:04o}, in memory", found.buffers.size(),
                              found.buffers.size() == 1 ? "" : "s", host->folder, folder.st_mode & 07777),
        .measures = {{"buffers", static_cast<std::int64_t>(found.buffers.size())}}};
    return found;
  } catch (const leaf::Error& error) {
    return {{}, {check_name, CheckState::failed, error.what(), hint_text(error)}};
  }
}

Checks folder_checks(const std::string& used, const Environment& environment) {
  const std::string usual = leaf::usual_runtime_dir(environment);
  if (!used.empty() || usual.empty() || !leaf::belongs_to_another(usual, environment)) return {};
  const std::string hint =
      environment.is_in_memory(environment.run_folder)
          ? fmt::format("have root run 'install -d -m 0700 -o {0} /run/leafctl-{0}'"_hint,
                        environment.user_id)
          : fmt::format(
                "have all programs of this user use another one on tmpfs, such as '/dev/shm/ids-{}', with "
                "--runtime-dir"_hint,
                environment.user_id);
  return {{check_name, CheckState::warning,
           fmt::format("'{}' belongs to another user, so there are no buffers", usual), hint}};
}

Checks buffer_checks(const std::vector<HostBuffer>& buffers, const std::optional<AskedStore>& asked,
                     const std::optional<leaf::StoreIdentity>& store) {
  Checks checks;
  std::int64_t former = 0;
  for (const HostBuffer& buffer : buffers) {
    if (buffer.is_former) {
      ++former;
      continue;
    }
    if (buffer.damaged) {
      checks.push_back(
          {check_name, CheckState::warning,
           fmt::format("the buffer of {} from store '{}': {}", subject(buffer), buffer.store, buffer.failure),
           hint_for(buffer, asked, store)});
    }
    if (buffer.failures == 0) continue;
    const std::string failed =
        fmt::format("the last {} of {} from store '{}' failed: {}",
                    buffer.failures == 1 ? "fetch" : fmt::format("{} fetches", buffer.failures),
                    subject(buffer), buffer.store, buffer.failure);
    const Measures measures{{"failures", std::int64_t{buffer.failures}}};
    if (asked && is_mended(buffer, *asked)) {
      checks.push_back({.name = check_name,
                        .detail = failed + "; the store answers now, and the next call fetches again",
                        .subject = buffer.name,
                        .measures = measures});
      continue;
    }
    checks.push_back(
        {check_name, CheckState::warning, failed, hint_for(buffer, asked, store), buffer.name, measures});
  }
  if (former > 0) {
    checks.push_back(
        {.name = check_name,
         .detail = fmt::format("{} {} of a copy of its store to which no name leads any more; "
                               "'leafctl status --forget' discards them",
                               leaf::detail::counted(former, "buffer"), former == 1 ? "is" : "are"),
         .measures = {{"former", former}}});
  }
  return checks;
}

Checks lost_mark_checks(const leaf::HostOptions& host) {
  Checks checks;
  for (const leaf::Error& lost : leaf::lost_host_marks(host)) {
    checks.push_back({check_name, CheckState::warning,
                      fmt::format("this host has forgotten how far a tag or worker was granted, and would "
                                  "not notice a restored store: {}",
                                  lost.what()),
                      hint_text(lost)});
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
  return {{check_name, CheckState::warning,
           seen + "; from now on this host draws from the store that it leads to now",
           "if the name should not lead elsewhere, correct it"_hint}};
}

Checks lost_tag_checks(leaf::Store& store) {
  Checks checks;
  for (const leaf::LostTag& lost : store.lost_tags()) {
    checks.push_back(
        {"tags",
         CheckState::failed,
         fmt::format("tag '{}' is gone from the store, but IDs of it were granted before, up to {}: the "
                     "store has gone back",
                     lost.name.str(), lost.granted_end - 1),
         fmt::format("run 'leafctl add-tag {}', with a higher number where 'leafctl doctor' names one on "
                     "another host, as another user, or for another runtime folder; if it had a limit, set "
                     "that again; remove the tag then if nobody needs it"_hint,
                     tag_arguments(lost.name.str(), fmt::format("--start {}", lost.granted_end))),
         lost.name.str(),
         {{"start", lost.granted_end}}});
  }
  return checks;
}

Checks mark_checks(leaf::Store& store, const leaf::Failover& failover) {
  Checks checks;
  std::set<std::string> waiting;
  for (const leaf::FailoverTag& tag : failover.tags) {
    if (tag.state == leaf::FailoverTag::State::waiting) waiting.insert(tag.name);
  }
  for (const leaf::Tag& tag : store.tags()) {
    // The next grant of one that waits leaves out what may have been granted.
    if (!leaf::TagName::is_valid(tag.name) || waiting.contains(tag.name)) continue;
    const std::int64_t mark = store.granted_mark(leaf::TagName(tag.name));
    // Somebody may have drawn since it was read.
    if (tag.next_id >= mark || store.tag(leaf::TagName(tag.name)).next_id >= mark) continue;
    checks.push_back(
        {"tags",
         CheckState::failed,
         fmt::format("tag '{}' would grant IDs from {} on, although this host was granted IDs "
                     "up to {}: the store has gone back",
                     tag.name, tag.next_id, mark - 1),
         fmt::format("run 'leafctl tags update {}', with a higher number where 'leafctl doctor' names one on "
                     "another host, as another user, or for another runtime folder: what others have "
                     "buffered counts too; if this is a "
                     "copy beside the "
                     "original, 'leafctl init-db --new-deployment' makes it a store of its own"_hint,
                     tag_arguments(tag.name, fmt::format("--raise-to {}", mark))),
         tag.name,
         {{"ids_behind", mark - tag.next_id}}});
  }
  return checks;
}

}  // namespace leafctl
