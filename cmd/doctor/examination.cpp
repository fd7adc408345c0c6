#include "doctor/examination.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

#include "cli/missing_store.hpp"
#include "doctor/host_checks.hpp"
#include "doctor/lease_checks.hpp"
#include "doctor/lock_checks.hpp"
#include "doctor/store_checks.hpp"
#include "doctor/supply_checks.hpp"
#include "leaf/detail/known_store.hpp"
#include "leaf/error.hpp"
#include "terminal/remedy_text.hpp"
#include "text/hint.hpp"
#include "text/time_text.hpp"
#include "workers/worker_request.hpp"

namespace leafctl {

namespace {

bool has_failed(const Check& check) {
  return check.state == CheckState::failed;
}

void append(Checks& checks, Checks more) {
  std::ranges::move(more, std::back_inserter(checks));
}

/// Where the store has gone back to another layout than this host was leased time in, nothing else matters.
Check check_layout(leaf::Store& store, const leaf::Layout& layout, const Settings& settings,
                   leaf::UnixTime now) {
  try {
    store.check_layout();
  } catch (const leaf::Error& error) {
    if (error.code() != leaf::ErrorCode::refused) throw;
    return {"layout", CheckState::failed, error.what(), hint_text(error)};
  }
  return layout_check(layout, settings.layout, now);
}

/// Whether this host gets a worker, unless others of the checks have told why not.
void check_lease(Checks& checks, leaf::Store& store, const std::vector<leaf::Worker>& workers,
                 const Session& session, const std::vector<leaf::HostBuffer>& buffers, Asker asker) {
  const auto tells_why = [](const Check& check) {
    return has_failed(check) && (check.name == "layout" || check.name == "workers");
  };
  if (std::ranges::any_of(checks, tells_why)) return;
  const leaf::WorkerRequest request = worker_request(session.settings());
  const bool goes_on = (asker == Asker::server && !session.host()) ||
                       has_lease(request, buffers, store.identity(), workers, current_time());
  append(checks, lease_checks(store, request, goes_on));
}

void check_supply(Checks& checks, leaf::Store& store, leaf::UnixTime now, const Session& session,
                  const std::vector<leaf::HostBuffer>& buffers, Asker asker) {
  const Settings& settings = session.settings();
  append(checks, tag_checks(store.tags(), tags_on_host(buffers, store.identity())));
  const leaf::Layout layout = store.layout();
  checks.push_back(check_layout(store, layout, settings, now));
  const std::vector<leaf::Worker> workers = store.workers();
  append(checks, worker_checks(workers, layout, store.worker_range(), now, worker_policy(settings)));
  check_lease(checks, store, workers, session, buffers, asker);
}

/// What helps where the store does not answer. Whoever reads it has run doctor.
std::string hint_for_connection(const leaf::Error& error) {
  if (error.hint().empty()) return "see 'leafctl show-config' for the store that is used"_hint;
  for (const leaf::Remedy& remedy : error.remedies()) {
    if (remedy.kind == leaf::Remedy::Kind::check_store && remedy.number)
      return how_to_free_file(*remedy.number);
  }
  return hint_text(error);
}

/// Nothing if it does not answer all that is asked. `buffers` are looked at anew once it is known which of
/// them are of this store.
std::optional<AskedStore> check_store(Checks& checks, const Session& session,
                                      const std::function<leaf::Store()>& open,
                                      std::vector<leaf::HostBuffer>& buffers, Asker asker) {
  const Settings& settings = session.settings();
  const std::string shown = leaf::redact_url(settings.store);
  std::optional<leaf::Store> store;
  leaf::StoreHealth health;
  try {
    store.emplace(open());
    health = store->health();
  } catch (const leaf::Error& thrown) {
    const leaf::Error error = with_known_store(thrown, session);
    checks.push_back({"connection", CheckState::failed, error.what(), hint_for_connection(error)});
    return std::nullopt;
  }
  checks.push_back({"connection", CheckState::ok, fmt::format("store '{}'", shown)});
  append(checks, store_checks(health, settings.max_skew));
  if (health.schema_version == 0 && has_known_store(session))
    std::ranges::find(checks, "schema", &Check::name)->hint = leaf::detail::known_store_hint();
  try {
    if (const auto host = session.host()) {
      append(checks, name_checks(settings.store, *host, *store));
      if (!buffers.empty()) buffers = leaf::host_buffers(*host);
    }
    check_supply(checks, *store, health.time.value_or(current_time()), session, buffers, asker);
    const bool tags_wait = health.guard && health.guard->tags_ahead > 0;
    append(checks, mark_checks(*store, tags_wait ? store->failover() : leaf::Failover{}));
    append(checks, lost_tag_checks(*store));
    AskedStore asked{.identity = store->identity(), .tags = {}, .checks = checks};
    for (leaf::Tag& tag : store->tags()) asked.tags.push_back(std::move(tag.name));
    return asked;
  } catch (const leaf::Error& error) {
    // One of the checks above may have told why.
    if (std::ranges::none_of(checks, has_failed))
      checks.push_back({"connection", CheckState::failed, error.what(), hint_for_connection(error)});
  }
  return std::nullopt;
}

}  // namespace

Checks examine(const Session& session, const std::function<leaf::Store()>& open, Asker asker) {
  HostFindings host = look_at_host(session.host(), session.settings().host_buffer);
  Checks checks;
  const auto asked = check_store(checks, session, open, host.buffers, asker);
  checks.push_back(host.folder);
  append(checks, folder_checks(session.settings().runtime_dir, environment_of_this_process()));
  const auto store = asked ? std::optional(asked->identity) : known_store(session);
  append(checks, buffer_checks(host.buffers, asked, store));
  if (!session.settings().runtime_dir.empty()) append(checks, lost_mark_checks(session.host_options()));
  if (store)
    append(checks, window_checks(host.buffers, *store, current_time(), worker_policy(session.settings())));
  return checks;
}

}  // namespace leafctl
