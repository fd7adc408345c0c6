#include "store/sqlite/place.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "leaf/detail/shell_word.hpp"
#include "leaf/error.hpp"
#include "store/sqlite/errors.hpp"
#include "text/hint.hpp"

namespace leaf::store::sqlite {

namespace {

constexpr const char* ends_of_journals[] = {"-journal", "-wal", "-shm"};

Error mounted_alone(const Place& place, const char* what, const char* journal) {
  return {ErrorCode::refused,
          fmt::format("{} '{}' is mounted without its folder: a crash would leave {} where others do not "
                      "see it, and IDs would repeat",
                      what, place.shown, journal),
          "mount the folder that the file lies in, rather than the file"_hint};
}

/// SQLite opens devices too, and another database's journal, which that one cuts off at its next commit.
void require_usable_name(const Place& place) {
  const auto refuse = [&](const char* why) {
    throw Error(ErrorCode::usage, fmt::format("store '{}' {}", place.shown, why), name_another_file());
  };
  std::error_code ignored;
  const auto status = std::filesystem::status(place.path, ignored);
  if (!is_found_by_text(place.path)) {
    throw Error(ErrorCode::usage,
                fmt::format("SQLite cannot follow the path of store '{}': a link on it leads elsewhere than "
                            "its text says, as links in /proc do",
                            place.shown),
                "name it by a path that this process sees"_hint);
  }
  if (place.path.ends_with('/') ||
      (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)))
    refuse("is not a file");
  const std::string name = std::filesystem::weakly_canonical(place.path, ignored).filename();
  for (const char* end : ends_of_journals) {
    if (name.ends_with(end)) refuse("has the name of another file's journal, which would replace it");
  }
}

}  // namespace

void require_free_journal(const Place& place, const std::string& name) {
  const JournalPlace there = look_at_journal(name);
  if (there == JournalPlace::no_file) {
    throw Error(
        ErrorCode::refused,
        fmt::format("'{}' is a link, or not a file: store '{}' has its journal there", name, place.shown),
        "remove it if nobody needs it, and check who may write to its folder"_hint);
  }
  if (there == JournalPlace::has_other_names) {
    throw Error(ErrorCode::refused,
                fmt::format("'{}' has more than one name: what a crash leaves there for another store would "
                            "be put into store '{}', and IDs would repeat",
                            name, place.shown),
                fmt::format("'find / -samefile {}' lists its names: once no program has one of these stores "
                            "open, remove it if it is empty"_hint,
                            leaf::detail::shell_word(name)));
  }
  if (there == JournalPlace::mounted_alone) throw mounted_alone(place, "the journal of store", "it");
}

void require_usable(const Place& place) {
  require_usable_name(place);
  // If SQLite finds a WAL beside the file, it opens that too.
  std::error_code ignored;
  const std::string file = std::filesystem::weakly_canonical(place.path, ignored).string();
  for (const char* end : ends_of_journals) require_free_journal(place, file + end);
}

void require_one_way(const Place& place, const FileLook& found) {
  if (found.has_other_names) {
    throw Error(ErrorCode::refused,
                fmt::format("store '{}' has more than one name: a crash would leave its journal beside one, "
                            "and IDs drawn by another would repeat",
                            place.shown),
                fmt::format("'find / -samefile {}' lists its names: keep only one, the one whose "
                            "'-journal' is not empty if there is one"_hint,
                            leaf::detail::shell_word(place.path)));
  }
  if (found.is_mounted_alone) throw mounted_alone(place, "store", "its journal");
}

}  // namespace leaf::store::sqlite
