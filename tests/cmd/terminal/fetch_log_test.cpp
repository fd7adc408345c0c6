#include "terminal/fetch_log.hpp"

#include <doctest/doctest.h>

TEST_CASE("fetch log: the commands of its hint lead to the host's folder too") {
  leaf::FetchChange change{
      .what = "segment of tag 'order'", .store = "dbname=ids", .failure = {}, .hint = {}};
  const leafctl::HintedOptions options{.store = "dbname=ids", .runtime_dir = "/run/ids", .group = true};
  CHECK(leafctl::fetch_change_text(change, options) ==
        "fetching a segment of tag 'order' from store 'dbname=ids' succeeds again");
  change.failure = "the store has gone back";
  change.hint = "check the store";
  change.remedies = {{.kind = leaf::Remedy::Kind::check_store, .at = change.hint.size()}};
  CHECK(leafctl::fetch_change_text(change, options) ==
        "fetching a segment of tag 'order' from store 'dbname=ids' fails: the store has gone back (hint: "
        "check the store with 'leafctl --store dbname=ids --runtime-dir /run/ids doctor --group')");
}
