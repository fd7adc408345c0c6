#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "host/failure_advice.hpp"
#include "host/fetch_record.hpp"
#include "host/folder.hpp"
#include "host/state_file.hpp"
#include "host/store_name.hpp"
#include "layout/positions.hpp"
#include "leaf/error.hpp"
#include "leaf/host.hpp"
#include "leaf/store.hpp"
#include "store/grant_marks.hpp"
#include "store/retry.hpp"
#include "text/duration_text.hpp"
#include "text/hint.hpp"

namespace leaf {

namespace {

using host::SharedState;
using host::StateFile;
using std::chrono::milliseconds;

template <class T>
T load(const host::Shared<T>& value) {
  return value.load(std::memory_order_relaxed);
}

UnixTime time_of(const host::Shared<std::int64_t>& unix_ms) {
  return UnixTime(milliseconds(load(unix_ms)));
}

/// Since the fetch before the last one, or since the last one if that was the first.
void describe_pace(HostBuffer& buffer, const SharedState& state, std::int64_t left, UnixTime now) {
  const bool is_first = load(state.fetch.fetched_before_ms) == 0;
  const auto since = now - time_of(is_first ? state.fetch.fetched_at_ms : state.fetch.fetched_before_ms);
  if (since <= milliseconds::zero()) return;
  const std::int64_t used = load(state.tag.granted) - left - (is_first ? 0 : load(state.tag.used_before));
  buffer.ids_per_second =
      static_cast<double>(std::max<std::int64_t>(used, 0)) * 1000.0 / static_cast<double>(since.count());
  buffer.pace_span = since;
}

void describe_tag(HostBuffer& buffer, const SharedState& state, UnixTime now) {
  const auto view = state.buffer.view();
  buffer.current = view.rest;
  buffer.next = view.next;
  buffer.step = load(state.tag.step);
  buffer.tag_step = load(state.tag.tag_step);
  buffer.limit = load(state.tag.limit);
  const auto left = static_cast<std::int64_t>(view.rest.size() + view.next.size());
  describe_pace(buffer, state, left, now);
  buffer.drawn = std::max<std::int64_t>(load(state.tag.granted) - left, 0);
}

void describe_worker(HostBuffer& buffer, const SharedState& state) {
  const Layout layout = Layout::parse(state.origin.get());
  const layout::Positions positions(layout);
  const auto time_at = [&](std::int64_t position) { return layout.time_at(positions.ticks_of(position)); };
  const auto view = state.buffer.view();
  const bool begins_with_next = view.rest.empty() && view.has_next;
  buffer.layout = layout.name();
  buffer.worker = load(state.worker.worker);
  if (!view.rest.empty()) buffer.worker = view.label;
  buffer.window_begin = time_at(begins_with_next ? view.next.lo : view.rest.lo);
  buffer.window_end = time_at(begins_with_next ? view.next.hi : view.rest.hi);
  buffer.next_window_end = view.has_next ? time_at(view.next.hi) : buffer.window_end;
}

bool is_buffer(StateFile& file) {
  const host::FileKind kind = file.state().header.kind;
  return kind == host::FileKind::tag || kind == host::FileKind::worker;
}

std::vector<std::string> buffer_files(const host::Folder& folder) {
  return host::state_files(folder, {host::FileKind::tag, host::FileKind::worker});
}

HostBuffer identify(StateFile& file) {
  HostBuffer buffer;
  const bool is_tag = file.state().header.kind == host::FileKind::tag;
  buffer.kind = is_tag ? HostBuffer::Kind::tag : HostBuffer::Kind::worker;
  buffer.name = file.name();
  buffer.store = file.shown_store();
  const StoreIdentity store = file.identity();
  buffer.deployment = store.deployment;
  buffer.copy = store.copy;
  return buffer;
}

HostBuffer damaged(StateFile& file, const std::string& path) {
  HostBuffer buffer = identify(file);
  buffer.damaged = true;
  buffer.failure = fmt::format("file '{}' is damaged", path);
  buffer.failure_hint =
      "draw an ID: the file is replaced then; what was buffered is lost, no ID repeats"_hint;
  return buffer;
}

HostBuffer describe(StateFile& file, UnixTime now) {
  const SharedState& state = file.state();
  HostBuffer buffer = identify(file);
  buffer.in_use = load(state.fetch.fetched_at_ms) != 0;
  buffer.fetched_at = time_of(state.fetch.fetched_at_ms);
  buffer.fetches = load(state.fetch.fetches);
  buffer.failed_fetches = load(state.fetch.failed_fetches);
  buffer.failures = load(state.fetch.failures);
  if (buffer.failures > 0) {
    buffer.failure = state.fetch.failure.get();
    Advice advice = failure_advice(state);
    buffer.failure_hint = std::move(advice.hint);
    buffer.failure_remedies = std::move(advice.remedies);
    buffer.retry_at = time_of(state.fetch.retry_at_ms);
  }
  if (!buffer.in_use) return buffer;
  if (buffer.kind == HostBuffer::Kind::tag) {
    describe_tag(buffer, state, now);
  } else {
    describe_worker(buffer, state);
  }
  return buffer;
}

/// Whether a window of `state`, a worker's, begins or goes on so far ahead of the time that is due.
bool is_ahead(const SharedState& state, UnixTime now, milliseconds max_backward) {
  if (state.buffer.published_end() == 0) return false;
  const layout::Positions positions(Layout::parse(state.origin.get()));
  const Layout& layout = positions.layout();
  const auto time_at = [&](std::int64_t position) { return layout.time_at(positions.ticks_of(position)); };
  const milliseconds lead = std::max(max_backward, layout.unit());
  const auto view = state.buffer.view();
  UnixTime due = now;
  if (!view.rest.empty()) {
    if (time_at(view.rest.lo) > due + lead) return true;
    due = std::max(due, time_at(view.rest.hi));
  }
  return time_at(view.has_next ? view.next.lo : state.buffer.published_end()) > due + lead;
}

/// Runs `work(file, lock)` once nobody fetches into the file: what is granted then would not be dropped.
template <class Work>
void when_nobody_fetches(const host::Folder& folder, const std::string& file_name, milliseconds timeout,
                         Clock& clock, Work work) {
  const milliseconds allowed = store::allowed(timeout);
  const auto deadline = clock.steady_now() + allowed;
  for (;;) {
    const auto file = StateFile::find_any(folder, file_name);
    if (!file) return;
    if (const auto lock = file->try_lock(folder)) {
      work(*file, *lock);
      return;
    }
    if (clock.steady_now() >= deadline) {
      throw Error(ErrorCode::unavailable,
                  fmt::format("what this host has buffered could not be dropped within {}", text_of(allowed)),
                  who_fetches(file->state()));
    }
    clock.sleep_for(milliseconds(1));
  }
}

/// Runs `work(file, lock)` for each buffer of `store`, as above.
template <class Work>
void for_buffers_of(const StoreIdentity& store, const host::Folder& folder, milliseconds timeout,
                    Clock& clock, Work work) {
  for (const std::string& name : buffer_files(folder)) {
    const auto file = StateFile::find_any(folder, name);
    if (!file || !is_buffer(*file) || file->identity() != store) continue;
    when_nobody_fetches(folder, name, timeout, clock, work);
  }
}

void drop(StateFile& file, const host::Folder& folder, const host::FetchLock& lock) {
  file.state().buffer.close();
  file.throw_away(folder, lock);
}

/// A name of a store, and where it leads.
struct KnownName {
  std::string shown;
  StoreIdentity store;
};

/// `find` gives the file of a name, or null if it does not count.
template <class Find>
std::vector<KnownName> known_names(const host::Folder& folder, Find find) {
  std::vector<KnownName> names;
  for (const std::string& name : host::state_files(folder, {host::FileKind::store_name})) {
    const std::shared_ptr<StateFile> file = find(folder, name);
    if (file && file->state().header.kind == host::FileKind::store_name)
      names.push_back({.shown = file->shown_store(), .store = file->identity()});
  }
  return names;
}

/// Where nothing is known of its store's names a buffer is not: they may have been forgotten.
bool is_former(const StateFile& file, const std::vector<KnownName>& names) {
  const StoreIdentity own = file.identity();
  const auto leads_here = [&](const KnownName& name) { return name.store == own; };
  const auto led_here = [&](const KnownName& name) {
    return name.store.deployment == own.deployment || name.shown == file.shown_store();
  };
  return std::ranges::none_of(names, leads_here) && std::ranges::any_of(names, led_here);
}

/// `find` is as above.
template <class Find>
std::vector<HostBuffer> describe_all(const host::Folder& folder, Clock& clock, Find find) {
  std::vector<HostBuffer> buffers;
  const UnixTime now = std::chrono::floor<milliseconds>(clock.now());
  const auto describe_file = [&](StateFile& file, const std::string& name) {
    try {
      if (file.is_intact()) return describe(file, now);
    } catch (const Error&) {
      // What cannot be described is damaged too.
    }
    return damaged(file, fmt::format("{}/{}", folder.path(), name));
  };
  const auto names = known_names(folder, find);
  for (const std::string& name : buffer_files(folder)) {
    const std::shared_ptr<StateFile> file = find(folder, name);
    if (!file || !is_buffer(*file)) continue;
    HostBuffer& buffer = buffers.emplace_back(describe_file(*file, name));
    buffer.is_former = is_former(*file, names);
  }
  std::ranges::sort(
      buffers, {}, [](const HostBuffer& buffer) { return std::tie(buffer.kind, buffer.name, buffer.store); });
  return buffers;
}

}  // namespace

std::vector<HostBuffer> host_buffers(const HostOptions& options, Clock& clock) {
  const auto folder = host::Folder::find(options);
  if (!folder) return {};
  return describe_all(*folder, clock, StateFile::find_any);
}

std::vector<HostBuffer> host_buffers_of_any_user(const std::string& folder, Clock& clock) {
  return describe_all(host::Folder::look(folder), clock, StateFile::look);
}

std::uint64_t drop_host_buffer(const StoreIdentity& store, const HostOptions& options, const TagName& tag,
                               std::int64_t floor, milliseconds timeout, Clock& clock) {
  const auto folder = host::Folder::find(options);
  if (!folder) return 0;
  const host::FileKey key{
      .kind = host::FileKind::tag, .name = tag.str(), .key = tag.str(), .identity = store};
  std::uint64_t dropped = 0;
  when_nobody_fetches(*folder, key.file_name(), timeout, clock, [&](StateFile& file, const host::FetchLock&) {
    const auto view = file.state().buffer.view();
    const bool has_lower =
        (!view.rest.empty() && view.rest.lo < floor) || (view.has_next && view.next.lo < floor);
    if (has_lower) dropped = file.state().buffer.drain();
  });
  return dropped;
}

int drop_host_windows_ahead(const StoreIdentity& store, const HostOptions& options, const std::string& owner,
                            std::optional<std::int64_t> worker, milliseconds max_backward,
                            milliseconds timeout, Clock& clock) {
  const auto folder = host::Folder::find(options);
  if (!folder) return 0;
  const auto concerns = [&](StateFile& file) {
    const SharedState& state = file.state();
    return state.header.kind == host::FileKind::worker && file.name() == owner &&
           (!worker || load(state.worker.worker) == *worker) &&
           is_ahead(state, std::chrono::floor<milliseconds>(clock.now()), max_backward);
  };
  int dropped = 0;
  for_buffers_of(store, *folder, timeout, clock, [&](StateFile& file, const host::FetchLock& lock) {
    if (!concerns(file)) return;
    drop(file, *folder, lock);  // another one may begin at a lower time
    ++dropped;
  });
  host_marks(options)->lower(store.deployment, mark_of_order(owner), 0, 0);
  return dropped;
}

std::optional<StoreIdentity> refresh_store_name(const std::string& url, const HostOptions& options,
                                                Store& store, Clock& clock) {
  const auto folder = host::Folder::find(options);
  if (!folder) return std::nullopt;
  const host::StoreName name(url, options);
  const auto led_to = name.led_to(*folder);
  if (!led_to) return std::nullopt;
  const auto question = name.ask(*folder, store, std::chrono::floor<milliseconds>(clock.now()));
  const StoreIdentity leads_to = store.identity();
  const bool is_noted =
      name.note(*folder, leads_to, question, [&] { return std::chrono::floor<milliseconds>(clock.now()); });
  return is_noted && *led_to != leads_to ? led_to : std::nullopt;
}

void remember_store_name(const std::string& url, const HostOptions& options, Store& store, Clock& clock) {
  const auto folder = host::Folder::find(options);
  if (!folder) return;
  const host::StoreName name(url, options);
  const auto question = name.ask(*folder, store, std::chrono::floor<milliseconds>(clock.now()));
  name.note(*folder, store.identity(), question,
            [&] { return std::chrono::floor<milliseconds>(clock.now()); });
}

std::optional<StoreIdentity> last_known_store(const std::string& url, const HostOptions& options) {
  const auto folder = host::Folder::find(options);
  return folder ? host::StoreName(url, options).led_to_anywhere(*folder) : std::nullopt;
}

std::size_t forget_store(const std::string& url, const HostOptions& options, milliseconds timeout,
                         Clock& clock) {
  const auto folder = host::Folder::find(options);
  if (!folder) return 0;
  const host::StoreName name(url, options);
  const auto store = name.led_to(*folder);
  const std::size_t forgotten = store ? forget_store(*store, options, timeout, clock) : 0;
  name.forget(*folder);  // last: whoever has to try again finds by it what is left
  return forgotten;
}

std::size_t forget_store(const StoreIdentity& store, const HostOptions& options, milliseconds timeout,
                         Clock& clock) {
  const auto folder = host::Folder::find(options);
  if (!folder) return 0;
  std::size_t forgotten = 0;
  for_buffers_of(store, *folder, timeout, clock, [&](StateFile& file, const host::FetchLock& lock) {
    drop(file, *folder, lock);
    ++forgotten;
  });
  return forgotten;
}

std::size_t forget_failing_buffers(const HostOptions& options, milliseconds timeout, Clock& clock) {
  const auto folder = host::Folder::find(options);
  if (!folder) return 0;
  std::size_t forgotten = 0;
  const auto names = known_names(*folder, StateFile::find_any);
  for (const std::string& name : buffer_files(*folder)) {
    const auto file = StateFile::find_any(*folder, name);
    if (!file || !is_buffer(*file)) continue;
    when_nobody_fetches(*folder, name, timeout, clock, [&](StateFile& locked, const host::FetchLock& lock) {
      if (load(locked.state().fetch.failures) == 0 && locked.is_intact() && !is_former(locked, names)) return;
      drop(locked, *folder, lock);
      ++forgotten;
    });
  }
  return forgotten;
}

}  // namespace leaf
