#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "duration_text.hpp"
#include "host/folder.hpp"
#include "host/state_file.hpp"
#include "host/store_identity.hpp"
#include "leaf/error.hpp"
#include "leaf/host.hpp"
#include "snowflake/positions.hpp"
#include "store/retry.hpp"

namespace leaf {

namespace {

using host::State;
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
std::optional<double> pace_of(const State& state, std::int64_t left, UnixTime now) {
  const bool is_first = load(state.fetch.fetched_before_ms) == 0;
  const auto since = now - time_of(is_first ? state.fetch.fetched_at_ms : state.fetch.fetched_before_ms);
  if (since <= milliseconds::zero()) return std::nullopt;
  const std::int64_t used = load(state.tag.granted) - left - (is_first ? 0 : load(state.tag.used_before));
  return static_cast<double>(std::max<std::int64_t>(used, 0)) * 1000.0 / static_cast<double>(since.count());
}

void describe_tag(HostBuffer& buffer, const State& state, UnixTime now) {
  const auto view = state.buffer.view();
  buffer.current = view.rest;
  buffer.next = view.next;
  buffer.step = load(state.tag.step);
  buffer.tag_step = load(state.tag.tag_step);
  buffer.limit = load(state.tag.limit);
  buffer.ids_per_second = pace_of(state, static_cast<std::int64_t>(view.rest.size() + view.next.size()), now);
}

void describe_worker(HostBuffer& buffer, const State& state) {
  const Layout layout = Layout::parse(state.origin.get());
  const snowflake::Positions positions(layout);
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

HostBuffer identify(const State& state) {
  const host::Constants& constants = state.constants;
  HostBuffer buffer;
  buffer.kind = constants.kind;
  buffer.name = {constants.name, strnlen(constants.name, sizeof constants.name)};
  buffer.store = {constants.store, strnlen(constants.store, sizeof constants.store)};
  return buffer;
}

HostBuffer damaged(const State& state, const std::string& path, const Error& error) {
  HostBuffer buffer = identify(state);
  buffer.failures = 1;
  buffer.failure = fmt::format("its file '{}' is damaged: {}", path, error.what());
  buffer.failure_hint = "remove the file: what was buffered is lost, no ID repeats";
  return buffer;
}

HostBuffer describe(const State& state, UnixTime now) {
  HostBuffer buffer = identify(state);
  buffer.in_use = load(state.fetch.fetched_at_ms) != 0;
  buffer.fetched_at = time_of(state.fetch.fetched_at_ms);
  buffer.failures = load(state.fetch.failures);
  if (buffer.failures > 0) {
    buffer.failure = state.fetch.failure.get();
    buffer.failure_hint = state.fetch.failure_hint.get();
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

/// Runs `work(file, lock)` once nobody fetches into the file: what is granted then would not be dropped.
template <class Work>
void when_nobody_fetches(const host::Folder& folder, const std::string& file_name, milliseconds timeout,
                         Clock& clock, Work work) {
  const milliseconds allowed = store::allowed(timeout);
  const auto deadline = clock.steady_now() + allowed;
  for (;;) {
    const auto file = StateFile::find(folder, file_name);
    if (!file) return;
    if (const auto lock = file->try_lock(folder)) {
      work(*file, *lock);
      return;
    }
    if (clock.steady_now() >= deadline) {
      throw Error(ErrorCode::unavailable,
                  fmt::format("what this host has buffered could not be dropped within {}", text_of(allowed)),
                  "another process fetches; if that is stopped, let it go on or kill it, then try again");
    }
    clock.sleep_for(milliseconds(1));
  }
}

}  // namespace

std::vector<HostBuffer> host_buffers(const HostOptions& options, Clock& clock) {
  std::vector<HostBuffer> buffers;
  const auto folder = host::Folder::find(options);
  if (!folder) return buffers;
  const UnixTime now = std::chrono::floor<milliseconds>(clock.now());
  for (const std::string& name : host::state_files(*folder)) {
    const auto file = StateFile::find(*folder, name);
    if (!file) continue;
    try {
      buffers.push_back(describe(file->state(), now));
    } catch (const Error& error) {
      buffers.push_back(damaged(file->state(), fmt::format("{}/{}", folder->path(), name), error));
    }
  }
  std::ranges::sort(
      buffers, {}, [](const HostBuffer& buffer) { return std::tie(buffer.kind, buffer.name, buffer.store); });
  return buffers;
}

std::uint64_t drop_host_buffer(const std::string& url, const HostOptions& options, const TagName& tag,
                               std::int64_t floor, milliseconds timeout, Clock& clock) {
  const auto folder = host::Folder::find(options);
  if (!folder) return 0;
  const host::StoreIdentity store = host::identify_store(url, options.store_key);
  const host::Subject subject{.kind = HostBuffer::Kind::tag,
                              .name = tag.str(),
                              .key = tag.str(),
                              .store = store.shown,
                              .store_key = store.key};
  std::uint64_t dropped = 0;
  when_nobody_fetches(
      *folder, subject.file_name(), timeout, clock, [&](StateFile& file, const host::FetchLock&) {
        const auto view = file.state().buffer.view();
        const bool has_lower =
            (!view.rest.empty() && view.rest.lo < floor) || (view.has_next && view.next.lo < floor);
        if (has_lower) dropped = file.state().buffer.drain();
      });
  return dropped;
}

void drop_host_buffers(const std::string& url, const HostOptions& options, milliseconds timeout,
                       Clock& clock) {
  const auto folder = host::Folder::find(options);
  if (!folder) return;
  const std::uint64_t key = host::identify_store(url, options.store_key).key;
  for (const std::string& name : host::state_files(*folder)) {
    when_nobody_fetches(*folder, name, timeout, clock, [&](StateFile& file, const host::FetchLock& lock) {
      if (file.state().constants.store_key != key) return;
      file.state().buffer.drain();
      file.throw_away(*folder, lock);
    });
  }
}

}  // namespace leaf
