#include "host/host_marks.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "host/folder.hpp"
#include "host/fork_mutex.hpp"
#include "host/mark_place.hpp"
#include "host/state_file.hpp"
#include "leaf/error.hpp"
#include "store/grant_marks.hpp"
#include "store/libpq_variables.hpp"
#include "store/url.hpp"
#include "text/advice.hpp"
#include "text/hint.hpp"
#include "text/shortage.hpp"

namespace leaf {

namespace {

using host::MarkPlace;
using host::StateFile;

/// Marks of all processes of a host: a file for each. Where there can be none a mark goes with the process:
/// what needs the folder for more than this guard complains of it.
class HostMarks final : public GrantMarks {
 public:
  explicit HostMarks(HostOptions options)
      : options_(options.folder.empty() ? std::move(options)
                                        : host::with_absolute_folder(std::move(options))) {}

  Mark mark(const std::string& deployment, const std::string& subject) override {
    const Places places = places_of(deployment, subject, IfMissing::leave);
    return places.shared ? places.shared->load() : Mark{};
  }

  std::vector<std::string> subjects(const std::string& deployment) override {
    std::vector<std::string> found;
    try {
      const auto folder = host::Folder::find(options_);
      if (!folder) return found;
      for (const std::string& name : host::state_files(*folder, {host::FileKind::mark})) {
        const auto file = StateFile::find(*folder, name);
        if (file && file->identity().deployment == deployment) found.push_back(file->name());
      }
    } catch (const Error&) {
      if (is_short_of_files()) throw;  // else as for a mark
    }
    return found;
  }

  bool claim(const StoreIdentity& store, const std::string& subject, Range granted,
             MarkHolder holder) override {
    const Places places = places_of(store.deployment, subject, IfMissing::make);
    const std::uint64_t copy = holder_of(store.copy);
    const bool is_own = places.own.claim(copy, granted, holder);
    if (places.shared->claim(copy, granted, holder) && is_own) return true;
    // Below it lies what the other copy has granted.
    for (const MarkPlace& place : {places.own, *places.shared}) place.mark.disown({granted.hi, holder});
    return false;
  }

  void raise(const std::string& deployment, const std::string& subject, std::int64_t end,
             MarkHolder holder) override {
    const Places places = places_of(deployment, subject, IfMissing::make);
    places.own.raise({end, holder});
    places.shared->raise({end, holder});
  }

  void lower(const std::string& deployment, const std::string& subject, std::int64_t end,
             MarkHolder holder) override {
    const Places places = places_of(deployment, subject, IfMissing::leave);
    places.own.lower({end, holder});
    if (places.shared) places.shared->lower({end, holder});
  }

  MarkHolder settle(const std::string& deployment, const std::string& subject, MarkHolder first) override {
    const Places places = places_of(deployment, subject, IfMissing::make);
    const MarkHolder shared = places.shared->mark.settle(first);
    const MarkHolder own = places.own.mark.settle(shared);
    return shared == first ? own : shared;
  }

 private:
  struct Kept {
    std::shared_ptr<StateFile> file{};
    std::uint64_t used = 0;  ///< as uses_ counted then
    // What this process knows by itself, should the file be gone, cut or closed.
    host::Shared<std::int64_t> end{0};
    host::Shared<std::uint64_t> holder{0};
    host::CopyRecords copies{};
    host::CopyHolders copy_holders{};

    MarkPlace own() { return {{&end, &holder}, &copies, &copy_holders}; }
  };

  struct Places {
    MarkPlace own;
    std::optional<MarkPlace>
        shared;  ///< `own` where there can be no file; none if it is missing, and is to be left so
    std::shared_ptr<StateFile>
        file{};  ///< that `shared` lies in, if it does; others may exchange it meanwhile
  };

  static MarkPlace place_in(StateFile& file) {
    host::SharedState& state = file.state();
    return {{&state.mark.highest, &state.mark_holder}, &state.copies, &state.copy_holders};
  }

  static void pass_on(const GrantMarks::Mark& known, const std::string& subject, const MarkPlace& to) {
    if (known.end == 0) return;
    if (subject == mark_of_layout) {
      to.mark.settle(known.holder);
    } else {
      to.raise(known);
    }
  }

  /// Of a program that goes from worker to worker, or from store to store, most files have had their use.
  void close_oldest() {
    constexpr std::size_t most_open = 64;
    std::size_t open = 0;
    std::pair<const std::pair<std::string, std::string>, Kept>* oldest = nullptr;
    for (auto& each : marks_) {
      if (!each.second.file) continue;
      ++open;
      if (oldest == nullptr || each.second.used < oldest->second.used) oldest = &each;
    }
    if (open <= most_open) return;
    Kept& kept = oldest->second;
    if (kept.file->is_whole()) pass_on(place_in(*kept.file).load(), oldest->first.second, kept.own());
    kept.file.reset();
  }

  enum class IfMissing { leave, make };

  Places places_of(const std::string& deployment, const std::string& subject, IfMissing if_missing) {
    const std::lock_guard lock(mutex_);
    Kept& kept = marks_[{deployment, subject}];
    kept.used = ++uses_;
    const bool is_whole = kept.file && kept.file->is_whole();
    const MarkPlace own = kept.own();
    const MarkPlace known = is_whole ? place_in(*kept.file) : own;
    try {
      if (!folder_ && if_missing == IfMissing::leave && !host::Folder::find(options_))
        return {own, known, kept.file};
      if (!folder_) folder_.emplace(options_);
      const auto folder = folder_->get();
      if (kept.file && kept.file->is_current(*folder)) return {own, known, kept.file};
      const host::FileKey key{.kind = host::FileKind::mark,
                              .name = subject,
                              .key = subject,
                              .identity = {.deployment = deployment, .copy = {}}};
      if (if_missing == IfMissing::leave && known.load().end == 0 && !StateFile::find(*folder, key))
        return {own, std::nullopt, nullptr};
      const auto found = StateFile::open(*folder, key);
      pass_on(known.load(), subject, place_in(*found));
      kept.file = found;
      close_oldest();
      return {own, place_in(*found), found};
    } catch (const Error&) {
      // What passes is no reason to forget what this host knows.
      if (is_short_of_files()) throw;
      return {own, known, kept.file};
    }
  }

  static bool is_short_of_files() {
    return !host::Descriptor(::open("/", O_PATH | O_CLOEXEC)) && is_shortage(errno);
  }

  const HostOptions options_;
  host::ForkMutex mutex_;
  std::optional<host::CurrentFolder> folder_;
  std::map<std::pair<std::string, std::string>, Kept> marks_;
  std::uint64_t uses_ = 0;
};

}  // namespace

StoreOptions host::to_keep(StoreOptions store, const std::optional<HostOptions>& host) {
  store.url = store::absolute_url(store.url);
  if (!store.variables) store.variables = store::libpq_variables();
  if (!store.marks) store.marks = host ? host_marks(*host) : marks_in_memory();
  return store;
}

HostOptions host::to_keep(HostOptions host, const std::string& variables) {
  if (host.store_key.empty()) {
    host.store_key = variables;
    if (host.store_files.empty()) host.store_files = store::libpq_service_files(variables);
  }
  return with_absolute_folder(std::move(host));
}

std::shared_ptr<GrantMarks> host_marks(const HostOptions& options) {
  return std::make_shared<HostMarks>(options);
}

std::vector<Error> lost_host_marks(const HostOptions& options) {
  std::vector<Error> lost;
  try {
    const auto folder = host::Folder::find(options);
    if (!folder) return lost;
    StateFile::require_known_boot();
    for (const std::string& name : host::state_files(*folder, {host::FileKind::mark})) {
      if (auto why = StateFile::why_lost(*folder, name)) lost.push_back(std::move(*why));
    }
  } catch (const Error&) {
    // why_no_host_marks() tells.
  }
  return lost;
}

namespace {

/// What helps, but to go without the folder, which a hint proposes last: that is what this is about.
Advice but_going_without(const Error& error) {
  using Kind = Remedy::Kind;
  Advice rest(error.hint());
  rest.remedies = error.remedies();
  const auto ends_with = [&](Kind kind) {
    return !rest.remedies.empty() && rest.remedies.back().kind == kind;
  };
  if (ends_with(Kind::do_without_host)) {
    const auto end = rest.hint.rfind(", or ", rest.remedies.back().at);
    rest.hint.resize(end == std::string::npos ? 0 : end);
    rest.remedies.pop_back();
  }
  if (ends_with(Kind::choose_host_folder)) rest.hint += ", before anything is drawn";
  return rest;
}

}  // namespace

std::optional<Error> why_no_host_marks(const HostOptions& options) {
  const Advice another =
      advice("name another one{}, before anything is drawn"_hint, Remedy{Remedy::Kind::choose_host_folder});
  try {
    const auto folder = host::Folder::find(options);
    StateFile::require_known_boot();
    int error = 0;
    const auto look = [&](const host::Folder& found) { error = StateFile::why_none_can_be_made(found); };
    if (folder) {
      look(*folder);
    } else {
      host::Folder::try_to_make(options, look);
    }
    const auto cannot = [&](const char* why, const Advice& what_helps) {
      return Error(ErrorCode::failed,
                   fmt::format("no file can be created in folder '{}': {}", options.folder, why), what_helps);
    };
    if (error == 0) return std::nullopt;
    if (error == EROFS) return cannot("it is read-only", another);
    if (error == ENOSPC) return cannot("its file system is full", "free some space there"_hint);
    if (error == EFBIG)
      return cannot(std::strerror(error), "allow this process larger files: 'ulimit -f unlimited'"_hint);
    return cannot(std::strerror(error), is_shortage(error) ? Advice(shortage_hint(error)) : another);
  } catch (const Error& error) {
    return Error(error.code(), error.what(), but_going_without(error));
  }
}

}  // namespace leaf
