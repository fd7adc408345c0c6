#include "leaf/host_defaults.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

#include "leaf/error.hpp"
#include "support/temporary_folder.hpp"
#include "support/usage_error.hpp"

using leaf::ConfigFile;

namespace {

std::optional<ConfigFile> read_file(const std::string& path) {
  return ConfigFile::read_if_exists(path, leaf::Environment::of_this_process());
}

/// A configuration file with the mode 0600.
class File {
 public:
  explicit File(const std::string& text) : path_(folder_.path() / "leafctl.yaml") {
    std::ofstream(path_) << text;
    set_mode(0600);
  }
  std::string path() const { return path_.string(); }
  void set_mode(mode_t mode) const { REQUIRE(chmod(path_.c_str(), mode) == 0); }
  std::string error() const {
    const std::string what = leaf::test::usage_error([&] { read_file(path()); });
    return what.starts_with(path()) ? what.substr(path().size()) : what;
  }

 private:
  leaf::test::TemporaryFolder folder_;
  std::filesystem::path path_;
};

}  // namespace

TEST_CASE("configuration file: values keep their text and their line") {
  const File file("# where\nstore: sqlite:/a b.db\n\ntimeout: '10s'\n");
  const auto config = read_file(file.path());
  REQUIRE(config);
  REQUIRE(config->find("store") != nullptr);
  CHECK(config->find("store")->text == "sqlite:/a b.db");
  CHECK(config->find("store")->place == file.path() + ":2");
  CHECK(config->find("timeout")->text == "10s");
  CHECK(config->find("timeout")->place == file.path() + ":4");
  CHECK(config->find("output") == nullptr);
}

TEST_CASE("configuration file: none and an empty one are no errors") {
  CHECK_FALSE(read_file("/nonexistent/leafctl.yaml"));
  const File file("# nothing yet\n");
  CHECK(read_file(file.path())->find("store") == nullptr);
}

TEST_CASE("configuration file: an unknown key is refused with its line and the nearest known one") {
  const File file("store: sqlite:/a.db\ntimeuot: 5s\n");
  CHECK(file.error() == ":2: unknown key 'timeuot'");
  try {
    read_file(file.path());
  } catch (const leaf::Error& error) {
    CHECK(error.hint() == "did you mean 'timeout'?");
  }
}

TEST_CASE("configuration file: what is no value for a key is refused with its line") {
  CHECK(File("output: text\nstore: [a, b]\n").error() == ":2: 'store' takes one value");
  CHECK(File("timeout:\n  seconds: 5\n").error() == ":1: 'timeout' takes one value");
  CHECK(File("timeout:\n").error() == ":1: 'timeout' takes one value");
  CHECK(File("- store\n").error() == ":1: expected lines such as 'timeout: 5s'");
  CHECK(File("[a, b]: c\n").error() == ":1: a key has to be a word");
}

TEST_CASE("configuration file: a mapping is one text, whose parts keep their lines") {
  const File file("worker_id:\n  a: 1\n  b: 2\n");
  const auto config = read_file(file.path());
  const auto* entry = config->find("worker_id");
  REQUIRE(entry != nullptr);
  CHECK(entry->text == "a=1,b=2");
  CHECK(entry->place == file.path() + ":1");
  REQUIRE(entry->parts.size() == 2);
  CHECK(entry->parts[1].text == "b=2");
  CHECK(entry->parts[1].place == file.path() + ":3");
}

TEST_CASE("configuration file: a mapping of anything but plain values is refused with its line") {
  const std::string refusal = ":1: 'worker_id' takes one value, or one for each name";
  for (const char* value :
       {"", "[1, 2]", "{}", "{a: [1]}", "{[a]: 1}", "{'a=b': 1}", "{'a,b': 1}", "{a: 1, 'a,b': 2}"}) {
    CAPTURE(value);
    CHECK(File("worker_id: " + std::string(value) + "\n").error() == refusal);
  }
  CHECK(File("timeout: {a: 5s}\n").error() == ":1: 'timeout' takes one value");
}

TEST_CASE("configuration file: a key that is given twice is refused") {
  CHECK(File("timeout: 5s\ncolor: auto\ntimeout: 6s\n").error() == ":3: 'timeout' is given twice");
}

TEST_CASE("configuration file: a second document is refused, not left out") {
  CHECK(File("timeout: 5s\n---\ncolor: auto\n").error() == ":3: a second document");
  CHECK(File("---\ntimeout: 1s\n...\n").error() == "no error");
}

TEST_CASE("configuration file: what is no YAML is refused with its line") {
  CHECK(File("color: auto\nstore: [a, b\n").error().find(": not valid YAML: ") != std::string::npos);
  CHECK(File("color: auto\n  bad: : indent\n").error().starts_with(":2: not valid YAML: "));
}

TEST_CASE("configuration file: a zero byte is refused with its line, wherever it stands") {
  for (const char* text : {R"(store: "sqlite:/a.db\0b")", R"(stores: {"a\0b": sqlite:/a.db})",
                           R"(stores: {a: "sqlite:/a.db\0b"})", R"("store\0": sqlite:/a.db)",
                           R"(worker_id: {"a\0": 1})", R"(runtime_dir: "/run\0")"}) {
    CAPTURE(text);
    CHECK(File("timeout: 5s\n" + std::string(text) + "\n").error() == ":2: a text holds a zero byte");
  }
}

TEST_CASE("configuration file: a name that is none for a store is refused with its line") {
  const std::string long_name(65, 'a');
  for (const char* name : {"a b", R"("a\n")", R"("a\e[31m")", "''", long_name.c_str()}) {
    CAPTURE(name);
    CHECK(File("stores:\n  " + std::string(name) + ": sqlite:/a.db\n")
              .error()
              .ends_with("' is no name for a store"));
  }
}

TEST_CASE("configuration file: the values that the library goes by are checked, whatever comes before them") {
  CHECK(File("runtime_dir: run\n").error() == ":1: 'runtime_dir' takes a folder's full path, not 'run'");
  CHECK(File("store: ''\n").error() == ":1: 'store' takes a store's URL, not an empty text");
  CHECK(File("group: maybe\n").error().starts_with(":1: 'group' takes yes, true, on or 1, "));
  CHECK(File("host_buffer: maybe\n").error().starts_with(":1: 'host_buffer' takes yes, true, on or 1, "));
}

TEST_CASE("configuration file: what yaml-cpp never gets past is refused at its place") {
  for (const char* text :
       {",", "\n,", "store: a\n,", ",\nstore: a\n", "]", "}", "- a\n,", ", ,", "? ,", "--- ,"}) {
    CAPTURE(text);
    CHECK(File(text).error().find("not valid YAML: ") != std::string::npos);
  }
  CHECK(File("\n ,").error().starts_with(":2: not valid YAML: "));
}

TEST_CASE("configuration file: aliases stand for what they name, but make no endless file") {
  const File file("store: &a sqlite:/a.db\nstores: {x: *a}\n");
  CHECK(read_file(file.path())->stores.at("x").text == "sqlite:/a.db");
  CHECK(File("stores: &a {x: *a}\n").error().find("not valid YAML: ") != std::string::npos);
  std::string doubled = "a0: &a0 [x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 12; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    doubled += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 1; j < 8; ++j) doubled += ", " + before;
    doubled += "]\n";
  }
  CHECK(File(doubled).error().find("not valid YAML: its aliases make too much of it") != std::string::npos);
}

TEST_CASE("configuration file: a folder and an endless file are refused") {
  const leaf::test::TemporaryFolder folder;
  CHECK_THROWS_WITH_AS(
      read_file(folder.path().string()),
      ("cannot read configuration file '" + folder.path().string() + "': Is a directory").c_str(),
      leaf::Error);
  CHECK_THROWS_WITH_AS(read_file("/dev/zero"), "configuration file '/dev/zero' is larger than 1 MiB",
                       leaf::Error);
}

TEST_CASE("configuration file: a password that any other user can read is refused, for each mode") {
  const File secret("store: postgresql://leaf:s3cret@db/ids\n");
  const File plain("store: postgresql://leaf@db/ids\n");
  for (mode_t mode = 0; mode <= 0777; ++mode) {
    CAPTURE(mode);
    if ((mode & 0400) == 0) continue;
    secret.set_mode(mode);
    const bool is_private = (mode & 0077) == 0;
    CHECK((secret.error() == "no error") == is_private);
    CHECK(secret.error().find("s3cret") == std::string::npos);
  }
  plain.set_mode(0644);
  CHECK(plain.error() == "no error");
}

TEST_CASE("configuration file: one that every user may write is refused, one of a group's is not") {
  const File file("timeout: 1s\n");
  for (const mode_t mode : {0602u, 0622u, 0646u, 0666u, 0777u}) {
    file.set_mode(mode);
    CHECK(file.error() == "configuration file '" + file.path() + "' can be changed by every user");
  }
  for (const mode_t mode : {0600u, 0644u, 0664u}) {
    file.set_mode(mode);
    CHECK(file.error() == "no error");
  }
}

TEST_CASE("configuration file: a named pipe is refused at once, whether somebody writes or not") {
  const leaf::test::TemporaryFolder folder;
  const std::string pipe = (folder.path() / "pipe").string();
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK_THROWS_WITH_AS(read_file(pipe), ("configuration file '" + pipe + "' is a named pipe").c_str(),
                       leaf::Error);
}
