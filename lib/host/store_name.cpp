#include "host/store_name.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "host/hash.hpp"
#include "host/name_scope.hpp"
#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "range/fetcher.hpp"
#include "store/url.hpp"

namespace leaf::host {

namespace {

using std::chrono::milliseconds;

/// After a check that failed, and while another process checks.
constexpr milliseconds check_pause{10'000};
/// A name that nobody has checked for so long may be of a container that is gone.
constexpr milliseconds kept_unchecked = std::chrono::hours(24);

/// One name for a file, however it was named.
std::string absolute_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  if (real) return real.get();
  std::error_code failed;
  const auto absolute = std::filesystem::absolute(path, failed);
  return failed ? path : absolute.lexically_normal().string();
}

void append_digits(std::string& text, std::uint64_t number) {
  for (int i = 0; i < 16; ++i, number <<= 4) text += "0123456789abcdef"[number >> 60];
}

std::int64_t unix_ms(UnixTime time) {
  return time.time_since_epoch().count();
}

/// A time further ahead was written before the clock was set back.
bool is_within(std::int64_t from_ms, std::int64_t time_ms, milliseconds length) {
  return time_ms >= from_ms && time_ms - from_ms < length.count();
}

/// Each container that lives for one call leaves a name. One that is still in use costs a look at its store.
void remove_old_names(const Folder& folder, UnixTime now) {
  for (const std::string& file_name : state_files(folder, {FileKind::store_name})) {
    try {
      const auto file = StateFile::find_any(folder, file_name);
      if (!file || file->shown_store().starts_with("sqlite:")) continue;  // that is the same everywhere
      const std::int64_t checked = file->state().store_name.checked_at_ms.load(std::memory_order_relaxed);
      if (checked != 0 && !is_within(checked, unix_ms(now), kept_unchecked))
        unlinkat(folder.descriptor(), file_name.c_str(), 0);
    } catch (const Error&) {
      // Not to be trusted, so not this one's to remove.
    }
  }
}

}  // namespace

StoreName::StoreName(const std::string& url, const HostOptions& options) {
  const store::Url parsed = store::parse_url(url);
  // Users may be led to different databases by one name: by their own service files and roles.
  Hash low;
  Hash high;
  if (parsed.driver == "sqlite") {
    files_ = {absolute_path(parsed.target)};
    shown_ = "sqlite:" + files_[0];
    leads_elsewhere_unseen_ = false;
    low.add(shown_);
  } else {
    files_ = options.store_files;
    shown_ = redact_url(url);
    low.add(store::identity_text(url)).add(options.store_key).add_number(geteuid());
    low.add_number(name_scope(parsed.target, options.store_key));
    for (const std::string& file : files_) low.add(file);
  }
  high.add_number(low.value()).add(parsed.driver == "sqlite" ? shown_ : store::identity_text(url));
  append_digits(digest_, low.value());
  append_digits(digest_, high.value());
}

std::uint64_t StoreName::Stamp::value() const noexcept {
  return Hash().add_number(files).add_number(changes).value();
}

StoreName::Stamp StoreName::stamp() const {
  Hash which;
  Hash when;
  for (const std::string& path : files_) {
    struct statx file {};
    if (statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME | STATX_CTIME, &file) != 0) file = {};
    which.add_number(std::uint64_t{file.stx_dev_major} << 32 | file.stx_dev_minor)
        .add_number(file.stx_ino)
        .add_number(static_cast<std::uint64_t>(file.stx_btime.tv_sec))
        .add_number(file.stx_btime.tv_nsec);
    when.add_number(static_cast<std::uint64_t>(file.stx_ctime.tv_sec)).add_number(file.stx_ctime.tv_nsec);
  }
  return {.files = which.value(), .changes = when.value()};
}

FileKey StoreName::key() const {
  return {.kind = FileKind::store_name, .name = digest_, .key = digest_, .shown_store = shown_};
}

std::shared_ptr<StateFile> StoreName::find(const Folder& folder) const {
  auto file = StateFile::find(folder, key().file_name());
  return file && file->name() == digest_ ? file : nullptr;
}

std::optional<StoreName::Known> StoreName::look_up(const Folder& folder, UnixTime now) const {
  const auto file = find(folder);
  if (!file) return std::nullopt;
  const NameRecord& record = file->state().store_name;
  if (record.stamp.load(std::memory_order_relaxed) != stamp().value()) return std::nullopt;
  const bool is_fresh =
      is_within(record.checked_at_ms.load(std::memory_order_relaxed), unix_ms(now), range::name_lasts);
  return Known{.store = file->identity(), .check_is_due = leads_elsewhere_unseen_ && !is_fresh};
}

bool StoreName::claim_check(const Folder& folder, UnixTime now) const {
  const auto file = find(folder);
  if (!file) return true;
  Shared<std::int64_t>& claimed = file->state().store_name.claimed_at_ms;
  std::int64_t before = claimed.load(std::memory_order_relaxed);
  return !is_within(before, unix_ms(now), check_pause) &&
         claimed.compare_exchange_strong(before, unix_ms(now), std::memory_order_relaxed);
}

void StoreName::note(const Folder& folder, const StoreIdentity& store, const Stamp& before,
                     UnixTime now) const {
  if (!find(folder)) remove_old_names(folder, now);
  FileKey key = this->key();
  key.identity = store;
  std::shared_ptr<StateFile> file;
  try {
    file = StateFile::open(folder, key);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::failed) return;  // no room: it is asked again next time
    throw;
  }
  // What was asked may itself have changed the file. If another one took its place the name is looked up
  // anew.
  const Stamp after = stamp();
  NameRecord& record = file->state().store_name;
  record.stamp.store((after.files == before.files ? after : before).value(), std::memory_order_relaxed);
  record.checked_at_ms.store(unix_ms(now), std::memory_order_relaxed);
  record.claimed_at_ms.store(0, std::memory_order_relaxed);
}

std::optional<StoreIdentity> StoreName::led_to(const Folder& folder) const {
  const auto file = find(folder);
  return file ? std::optional(file->identity()) : std::nullopt;
}

void StoreName::forget(const Folder& folder) const {
  unlinkat(folder.descriptor(), key().file_name().c_str(), 0);
}

}  // namespace leaf::host
