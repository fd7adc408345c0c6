#pragma once

#include <doctest/doctest.h>

#include "leaf/store.hpp"
#include "leaf/tag_import.hpp"

namespace leaf::test {

/// Brings a removed tag back by an import, and checks that it is as the import says, not as it was.
inline void check_that_a_removed_tag_comes_back_as_told(Store& store) {
  const TagName gone("gone");
  store.add_tag({.name = gone, .step = 20, .limit = 900, .description = "former"});
  store.remove_tag(gone);
  import_tags({{.name = gone, .next_id = 50, .step = 7, .limit = 60, .description = "new"}}, store);
  CHECK(store.tag(gone).step == 7);
  CHECK(store.tag(gone).limit == 60);
  CHECK(store.tag(gone).description == "new");
}

}  // namespace leaf::test
