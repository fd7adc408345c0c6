#include "host/store_name.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "host/hash.hpp"
#include "host/host_marks.hpp"
#include "host/name_scope.hpp"
#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "range/fetcher.hpp"
#include "store/file_identity.hpp"
#include "store/libpq_variables.hpp"
#include "store/url.hpp"

namespace leaf::host {

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// After a check that failed, and while another process checks.
constexpr milliseconds check_pause{10'000};
/// A name that nobody has checked for so long may be of a container that is gone, or of a job that runs once
/// a week: then the host is to know that there was a store. So the oldest go, and only once there are many.
constexpr milliseconds kept_unchecked = std::chrono::hours(24);
constexpr std::size_t kept_names = 100;

struct FreeText {
  void operator()(char* text) const noexcept { std::free(text); }
};

/// The path of the file that `path` leads to, without links. If there is no such file, where it would be:
/// what is there of the way to it is followed, and the rest taken as it is written. Empty if that cannot be
/// told:
/// '..' leads to where the link before it does.
std::string path_of_file(const fs::path& path) {
  if (const std::unique_ptr<char, FreeText> real(realpath(path.c_str(), nullptr)); real) return real.get();
  constexpr int most_links = 40;  // as in the kernel
  const fs::path name = path.filename();
  if (!path.is_absolute() || name.empty() || name == "." || name == "..") return {};
  std::vector<fs::path> way(std::make_reverse_iterator(path.end()),
                            std::make_reverse_iterator(path.begin()));  // what is next is at the end
  fs::path found = "/";
  bool is_away = false;
  for (int links = 0; !way.empty();) {
    const fs::path part = way.back();
    way.pop_back();
    if (part.empty() || part == "." || part == "/") continue;
    if (part == "..") {
      if (std::error_code unknown; is_away || !fs::is_directory(found, unknown)) return {};
      found = found.parent_path();
      continue;
    }
    const fs::path next = found / part;
    std::error_code unknown;
    const fs::file_status status = is_away ? fs::file_status() : fs::symlink_status(next, unknown);
    if (fs::is_symlink(status)) {
      const fs::path target = fs::read_symlink(next, unknown);
      if (unknown || ++links > most_links) return {};
      if (target.is_absolute()) found = "/";
      way.insert(way.end(), std::make_reverse_iterator(target.end()),
                 std::make_reverse_iterator(target.begin()));
      continue;
    }
    if (!is_away && !fs::exists(status)) {
      if (status.type() != fs::file_type::not_found) return {};
      is_away = true;
    }
    found = next;
  }
  return found.string();
}

/// None if it cannot be looked at, as if there were no such file.
std::optional<struct statx> look_at(const std::string& path) {
  struct statx file {};
  if (statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME | STATX_CTIME, &file) != 0)
    return std::nullopt;
  return file;
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

/// Whether `record` answers a question that was asked after `question`: who was stopped in between knows
/// less. So the time is read last, too.
bool is_after(const NameRecord& record, const StoreName::Question& question,
              const std::function<UnixTime()>& now) {
  const std::int64_t asked_ms = record.checked_at_ms.load(std::memory_order_relaxed);
  return asked_ms > unix_ms(question.at) && asked_ms <= unix_ms(now());
}

std::int64_t checked_at(StateFile& name) {
  return name.state().store_name.checked_at_ms.load(std::memory_order_relaxed);
}

/// Each container that lives for one call leaves a name. One that is still in use costs a look at its store.
void remove_oldest_names(const Folder& folder, UnixTime now) {
  std::vector<std::pair<std::int64_t, std::string>> names;  // by when they were checked
  for (const std::string& file_name : state_files(folder, {FileKind::store_name})) {
    try {
      const auto file = StateFile::find_any(folder, file_name);
      if (!file || file->shown_store().starts_with("sqlite:")) continue;  // stays as its buffers do
      const std::int64_t checked = checked_at(*file);
      if (checked != 0) names.emplace_back(checked, file_name);
    } catch (const Error&) {
      // Not to be trusted, so not this one's to remove.
    }
  }
  std::ranges::sort(names);
  for (std::size_t i = 0; i + kept_names < names.size(); ++i) {
    const auto& [checked, file_name] = names[i];
    if (checked + kept_unchecked.count() <= unix_ms(now)) unlinkat(folder.descriptor(), file_name.c_str(), 0);
  }
}

/// Of the names that are shown as `shown` the one that was checked last; null if there is none.
std::shared_ptr<StateFile> newest_shown_as(const Folder& folder, const std::string& shown) {
  std::shared_ptr<StateFile> newest;
  for (const std::string& file_name : state_files(folder, {FileKind::store_name})) {
    auto file = StateFile::find(folder, file_name);
    if (file && file->shown_store() == shown && (!newest || checked_at(*newest) < checked_at(*file)))
      newest = std::move(file);
  }
  return newest;
}

std::string digest_of(const Hash& low, const std::string& name) {
  std::string digest;
  append_digits(digest, low.value());
  append_digits(digest, Hash().add_number(low.value()).add(name).value());
  return digest;
}

StoreName::Stamp stamp_of(const std::vector<std::optional<struct statx>>& looks) {
  Hash which;
  Hash when;
  for (const auto& look : looks) {
    struct statx file {};
    if (look) file = *look;
    which.add_number(std::uint64_t{file.stx_dev_major} << 32 | file.stx_dev_minor)
        .add_number(file.stx_ino)
        .add_number(static_cast<std::uint64_t>(file.stx_btime.tv_sec))
        .add_number(file.stx_btime.tv_nsec);
    when.add_number(static_cast<std::uint64_t>(file.stx_ctime.tv_sec)).add_number(file.stx_ctime.tv_nsec);
  }
  return {.files = which.value(), .changes = when.value()};
}

}  // namespace

StoreName::StoreName(const std::string& url, const HostOptions& said) {
  const store::Url parsed = store::parse_url(url);
  if (parsed.driver == "sqlite") {
    std::error_code unknown;
    path_ = fs::absolute(parsed.target, unknown).string();
    if (unknown) path_ = parsed.target;
    first_ = follow();
    return;
  }
  const HostOptions options = to_keep(said, store::libpq_variables());
  files_ = options.store_files;
  is_by_service_ = goes_through_service(parsed.target, options.store_key);
  // Users may be led to different databases by one name: by their own service files and roles.
  const std::string identity = store::identity_text(url);
  Hash low;
  low.add(identity).add(options.store_key).add_number(geteuid());
  low.add_number(name_scope(parsed.target, options.store_key));
  for (const std::string& file : files_) low.add(file);
  first_ = {.shown = redact_url(url), .digest = digest_of(low, identity)};
}

std::uint64_t StoreName::Stamp::value() const noexcept {
  return Hash().add_number(files).add_number(changes).value();
}

StoreName::Place StoreName::look() const {
  if (is_sqlite()) {
    const auto file = look_at(path_);
    // Links need not be followed again to a file that is the same as at first.
    if (!file || first_.copy.empty() || store::identity_of(*file).copy() != first_.copy) return follow();
    Place place = first_;
    place.stamp = stamp_of({file});
    return place;
  }
  std::vector<std::optional<struct statx>> looks;
  for (const std::string& file : files_) looks.push_back(look_at(file));
  Place place = first_;
  place.stamp = stamp_of(looks);
  return place;
}

StoreName::Question StoreName::ask(const Folder& folder, Store& store, UnixTime now) const {
  const Place place = look();
  const auto file = find(folder, place);
  const Question question{
      .stamp = place.stamp, .at = now, .led_to = file ? std::optional(file->identity()) : std::nullopt};
  store.connect_by(files_.empty() ? 0 : question.stamp.value(), question.led_to);
  return question;
}

StoreName::Place StoreName::follow() const {
  const std::string path = path_of_file(path_);
  if (path.empty()) return {.shown = "sqlite:" + path_, .digest = {}};
  Place place{.shown = "sqlite:" + path, .digest = {}};
  place.digest = digest_of(Hash().add(place.shown).add_number(mount_scope(path)), place.shown);
  const auto file = look_at(path);
  place.stamp = stamp_of({file});
  if (file) place.copy = store::identity_of(*file).copy();
  return place;
}

bool StoreName::is_of(const StoreIdentity& store, const Place& place) const {
  return !is_sqlite() || place.copy == store.copy;
}

std::string StoreName::shown_for(const StoreIdentity& store) const {
  const Place place = is_sqlite() ? follow() : first_;
  return is_of(store, place) ? place.shown : "sqlite:" + path_;
}

FileKey StoreName::key(const Place& place) {
  return {
      .kind = FileKind::store_name, .name = place.digest, .key = place.digest, .shown_store = place.shown};
}

std::shared_ptr<StateFile> StoreName::find(const Folder& folder, const Place& place) {
  if (place.digest.empty()) return nullptr;
  auto file = StateFile::find(folder, key(place).file_name());
  return file && file->name() == place.digest ? file : nullptr;
}

std::optional<StoreName::Known> StoreName::look_up(const Folder& folder, UnixTime now) const {
  const Place place = look();
  const auto file = find(folder, place);
  if (!file) return std::nullopt;
  const NameRecord& record = file->state().store_name;
  if (record.stamp.load(std::memory_order_relaxed) != place.stamp.value()) return std::nullopt;
  const StoreIdentity store = file->identity();
  if (!is_of(store, place)) return std::nullopt;
  const bool is_fresh =
      is_within(record.checked_at_ms.load(std::memory_order_relaxed), unix_ms(now), range::name_lasts);
  return Known{.store = store, .check_is_due = !is_sqlite() && !is_fresh};  // a SQLite file tells all
}

bool StoreName::visibly_leads_elsewhere(const Folder& folder, const StoreIdentity& store) const {
  const Place place = look();
  if (is_sqlite()) return !place.copy.empty() && place.copy != store.copy;
  // The files of services are looked at for any name, and may be others in another container.
  const auto file = is_by_service_ ? find(folder, place) : nullptr;
  const std::uint64_t noted = file ? file->state().store_name.stamp.load(std::memory_order_relaxed) : 0;
  return noted != 0 && noted != place.stamp.value();
}

bool StoreName::claim_check(const Folder& folder, UnixTime now) const {
  const auto file = find(folder, look());
  if (!file) return true;
  Shared<std::int64_t>& claimed = file->state().store_name.claimed_at_ms;
  std::int64_t before = claimed.load(std::memory_order_relaxed);
  return !is_within(before, unix_ms(now), check_pause) &&
         claimed.compare_exchange_strong(before, unix_ms(now), std::memory_order_relaxed);
}

bool StoreName::note(const Folder& folder, const StoreIdentity& store, const Question& question,
                     const std::function<UnixTime()>& now) const {
  const Place place = is_sqlite() ? follow() : look();
  if (!is_of(store, place)) return false;
  if (!find(folder, place)) remove_oldest_names(folder, now());
  const auto knows_less = [&](StateFile& other) {
    const bool has_turned = question.led_to && *question.led_to != other.identity();
    return !has_turned && !is_after(other.state().store_name, question, now);
  };
  FileKey key = StoreName::key(place);
  key.identity = store;
  std::shared_ptr<StateFile> file;
  try {
    file = StateFile::open(folder, key, knows_less);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::failed) return false;  // no room: it is asked again next time
    throw;
  }
  if (!file) return false;
  // What was asked may itself have changed a SQLite file. If another one took its place the name is looked up
  // anew.
  const bool is_same_file = is_sqlite() && place.stamp.files == question.stamp.files;
  const Stamp& stamp = is_same_file ? place.stamp : question.stamp;
  NameRecord& record = file->state().store_name;
  record.stamp.store(stamp.value(), std::memory_order_relaxed);
  record.checked_at_ms.store(unix_ms(question.at), std::memory_order_relaxed);
  record.claimed_at_ms.store(0, std::memory_order_relaxed);
  return true;
}

std::optional<StoreIdentity> StoreName::led_to(const Folder& folder) const {
  const auto file = find(folder, look());
  return file ? std::optional(file->identity()) : std::nullopt;
}

std::optional<StoreIdentity> StoreName::led_to_anywhere(const Folder& folder) const {
  const Place place = look();
  auto file = find(folder, place);
  if (!file && is_sqlite()) file = newest_shown_as(folder, place.shown);
  return file ? std::optional(file->identity()) : std::nullopt;
}

void StoreName::forget(const Folder& folder) const {
  const Place place = look();
  if (!place.digest.empty()) unlinkat(folder.descriptor(), key(place).file_name().c_str(), 0);
}

}  // namespace leaf::host
