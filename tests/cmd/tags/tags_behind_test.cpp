#include "tags/tags_behind.hpp"

#include <doctest/doctest.h>

#include "leaf/host.hpp"
#include "support/sqlite_store.hpp"

using leaf::TagName;
using leaf::test::SqliteStore;

namespace {

/// A store, and what a host remembers that was granted another one's IDs under the same deployment: the store
/// as it was before, to which it has gone back.
struct StoreGoneBack {
  StoreGoneBack() {
    leaf::Store store = open();
    for (const char* tag : {"order", "gone", "other"}) leaf::test::add_tag(store, tag, 10);
    store.remove_tag(TagName("gone"));
    std::filesystem::copy_file(now.path(), backup());
    leaf::test::add_tag(store, "gone", 10);
    leaf::test::add_tag(store, "new", 10);
    for (const char* tag : {"order", "gone", "new"}) store.grant(TagName(tag), 10);
    store.remove_tag(TagName("gone"));
    std::filesystem::rename(backup(), now.path());
  }

  leaf::Store open() {
    leaf::StoreOptions options = now.options();
    options.marks = leaf::host_marks({.folder = (folder.path() / "run").string()});
    return leaf::Store(options);
  }
  std::filesystem::path backup() const { return folder.path() / "backup"; }

  SqliteStore now;
  leaf::test::TemporaryFolder folder;
};

std::string text_of(const std::vector<leaf::Error>& errors) {
  std::string text;
  for (const leaf::Error& error : errors) {
    CHECK(error.code() == leaf::ErrorCode::refused);
    text.append(error.what()).append(" | ").append(error.hint()).append("\n");
  }
  return text;
}

}  // namespace

TEST_CASE("tags behind: those that would grant again what this host was granted, present, removed and lost") {
  StoreGoneBack gone_back;
  leaf::Store store = gone_back.open();
  const auto any = [](const std::string&) { return true; };
  const auto is_new = [](const std::string& tag) { return tag == "new"; };
  const std::string with =
      ", with a higher number where 'leafctl doctor' names one on another host, as another user, or for "
      "another runtime folder\n";
  const std::string with_limit = with.substr(0, with.size() - 1) + "; if it had a limit, set that again\n";
  const auto lost = [&](const std::string& tag) {
    return "tag '" + tag +
           "' is gone from the store, but this host was granted IDs of it up to 10: the store has " +
           "gone back | run 'leafctl add-tag " + tag + " --start 11'" + with_limit;
  };
  CHECK(text_of(leafctl::tags_behind(store.all_tags(), store, any)) ==
        "tag 'order' would go on from 1, although this host was granted IDs up to 10: the store has gone "
        "back | "
        "run 'leafctl tags update order --raise-to 11'" +
            with + lost("gone") + lost("new"));
  CHECK(text_of(leafctl::tags_behind({store.tag(TagName("other"))}, store, is_new)) == lost("new"));
}
