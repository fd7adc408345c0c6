#include "terminal/messages.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "support/temporary_folder.hpp"

using leafctl::Messages;
using leafctl::OutputFile;

TEST_CASE("messages: each command that one names, hint or not, is given the store that the line named") {
  const leaf::test::TemporaryFolder folder;
  const std::string path = (folder.path() / "said").string();
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(descriptor != -1);
  OutputFile file(descriptor, "standard error");
  Messages messages(file);
  messages.set_level(Messages::Level::verbose);
  messages.set_hinted_options({.store = "S"});
  messages.info("'leafctl a' ends it");
  messages.detail("'leafctl b' was run");
  messages.warning("see 'leafctl c'", "run 'leafctl d'");
  messages.error("'leafctl e' failed", "run 'leafctl f'");
  close(descriptor);
  std::ifstream said(path);
  CHECK(std::string(std::istreambuf_iterator<char>(said), {}) ==
        "'leafctl --store S a' ends it\n"
        "'leafctl --store S b' was run\n"
        "leafctl: warning: see 'leafctl --store S c'\nhint: run 'leafctl --store S d'\n"
        "leafctl: 'leafctl --store S e' failed\nhint: run 'leafctl --store S f'\n");
}
