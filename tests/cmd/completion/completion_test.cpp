#include "completion/completion.hpp"

#include <doctest/doctest.h>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <string>

#include "commands.hpp"
#include "leaf/layout.hpp"

using leafctl::Candidate;
using leafctl::CommandLine;
using leafctl::commands;

namespace {

using Words = std::vector<std::string>;

/// Of a command line whose last word is being typed. None of these looks into a store.
std::vector<Candidate> candidates(const Words& words) {
  CommandLine command_line(commands());
  return leafctl::candidates_at(leafctl::find_cursor(command_line, words));
}

Words proposed(const Words& words) {
  Words result;
  for (const Candidate& candidate : candidates(words)) result.push_back(candidate.word);
  return result;
}

bool proposes(const Words& words, const std::string& word) {
  return std::ranges::count(proposed(words), word) == 1;
}

/// The option that the last word is, or is the value of; empty for none.
std::string option_at(const Words& words) {
  CommandLine command_line(commands());
  const auto cursor = leafctl::find_cursor(command_line, words);
  return cursor.option == nullptr ? "" : cursor.option->get_name();
}

}  // namespace

TEST_CASE("completion: commands are proposed where one is missing, but no hidden one") {
  const Words tags_commands{"list", "show", "update", "export", "import", "remove"};
  CHECK(proposed({"tags", ""}) == tags_commands);
  CHECK(proposed({"-q", "--store", "x", "tags", "sh"}) == tags_commands);
  for (const auto& entry : commands()) {
    const std::string name = entry.name;
    if (name.find(' ') == std::string::npos) CHECK(proposes({""}, name) != entry.hidden);
  }
}

TEST_CASE("completion: an unknown command has nothing behind it") {
  CHECK(proposed({"frobnicate", ""}).empty());
  CHECK(proposed({"tags", "frobnicate", ""}).empty());
}

TEST_CASE("completion: a command's own options and those of all commands are proposed, each once") {
  for (const char* option :
       {"--count", "-n", "--snowflake", "--window", "--store", "-o", "--help", "--version"}) {
    CAPTURE(option);
    CHECK(proposes({"next", "order", "-"}, option));
  }
  CHECK_FALSE(proposes({"tags", "list", "-"}, "--count"));
  CHECK_FALSE(proposes({"-"}, "--count"));
  CHECK(proposes({"-"}, "--version"));
}

TEST_CASE("completion: an option is not proposed again, unless it may be repeated") {
  CHECK_FALSE(proposes({"next", "-n5", "--"}, "--count"));
  CHECK_FALSE(proposes({"-qo", "json", "next", "--"}, "--output"));
  CHECK_FALSE(proposes({"--quiet", "next", "-"}, "-q"));
  CHECK(proposes({"encode", "--field", "worker=1", "--"}, "--field"));
}

TEST_CASE("completion: options are proposed where no argument is left, and never behind --") {
  CHECK(proposes({"init-db", ""}, "--output"));
  CHECK(proposed({"init-db", "--", ""}).empty());
  CHECK(proposed({"init-db", "--", "-"}).empty());
  CHECK(proposed({"add-tag", ""}).empty());
  CHECK(proposes({"add-tag", "order", ""}, "--step"));
}

TEST_CASE("completion: the value of an option is told from what comes before it") {
  CHECK(option_at({"next", "-n", ""}) == "--count");
  CHECK(option_at({"next", "-qn", ""}) == "--count");
  CHECK(option_at({"next", "--count", ""}) == "--count");
  CHECK(option_at({"next", "--count=5"}) == "--count");
  CHECK(option_at({"next", "--store", ""}) == "--store");
  CHECK(option_at({"next", "-n5", ""}).empty());
  CHECK(option_at({"next", "--count=5", ""}).empty());
  CHECK(option_at({"next", "-n", "-5", ""}).empty());
  CHECK(option_at({"next", "-q", ""}).empty());
  CHECK(option_at({"next", "--", "--count", ""}).empty());
  CHECK(option_at({"next", "--", "--count=5"}).empty());
}

TEST_CASE("completion: values by what the help calls them") {
  CHECK(proposed({"next", "-o", ""}) == Words{"text", "json"});
  CHECK(proposed({"--color", "a"}) == Words{"auto", "always", "never"});
  CHECK(proposed({"tags", "update", "order", "--limit", ""}) == Words{"none"});
  CHECK(proposed({"next", "--count", ""}).empty());
  CHECK(proposed({"help", "tags", ""}) == proposed({"tags", ""}));
  CHECK(proposed({"help", "frobnicate", ""}).empty());
  CHECK(proposed({"next", "--store", ""}) == Words{"sqlite:", "postgresql://", "service="});
  Words layouts;
  for (const auto& known : leaf::known_layouts()) layouts.emplace_back(known.name);
  CHECK(proposed({"decode", "--layout", ""}) == layouts);
}

TEST_CASE("completion: a value behind = is proposed with its option") {
  CHECK(proposed({"next", "--output="}) == Words{"--output=text", "--output=json"});
  CHECK(proposed({"next", "--output=j"}) == Words{"--output=text", "--output=json"});
  CHECK(proposed({"next", "--quiet="}).empty());
}

TEST_CASE("completion: names of files are left to the shell, behind what is no part of them") {
  const auto behind = [](const Words& words) {
    const auto found = candidates(words);
    REQUIRE(found.size() == 1);
    CHECK(found.front().word.empty());
    return found.front().description;
  };
  CHECK(behind({"--config", "my"}).empty());
  CHECK(behind({"--config=my"}) == "--config=");
  CHECK(behind({"--store", "sqlite:my"}) == "sqlite:");
  CHECK(behind({"--store=sqlite:"}) == "--store=sqlite:");
}

TEST_CASE("completion: what is said of settings before the cursor is kept") {
  CommandLine command_line(commands());
  const auto cursor = leafctl::find_cursor(
      command_line, {"--store=a", "--config", "c.yaml", "next", "--timeout", "1s", "--store", "b", "or"});
  CHECK(cursor.settings.values[leafctl::find_setting("store").value()] == "b");
  CHECK(cursor.settings.values[leafctl::find_setting("timeout").value()] == "1s");
  CHECK(cursor.settings.config_file == "c.yaml");
  CHECK(cursor.word == "or");
}

TEST_CASE("completion: every value that is proposed for a setting is one that it takes") {
  std::size_t checked = 0;
  for (const auto& setting : leafctl::all_settings()) {
    const std::string flag = setting.long_flag();
    // Those that live in a store are not asked for here.
    if (flag == "--worker-id" || flag == "--store" || setting.flag_stands_for != nullptr) continue;
    for (const std::string& value : proposed({"show-config", flag, ""})) {
      CAPTURE(value);
      leafctl::Settings settings;
      CHECK_NOTHROW(setting.assign(settings, flag, value));
      ++checked;
    }
  }
  CHECK(checked == 2 + 3 + leaf::known_layouts().size());
}

TEST_CASE("completion: descriptions are short enough to stand beside their words") {
  for (const auto& entry : commands()) {
    Words words;
    for (std::string_view name = entry.name; !name.empty();) {
      const auto blank = std::min(name.find(' '), name.size());
      words.emplace_back(name.substr(0, blank));
      name.remove_prefix(std::min(blank + 1, name.size()));
    }
    words.emplace_back("-");
    for (const Candidate& candidate : candidates(words)) {
      CAPTURE(candidate.word);
      CHECK_FALSE(candidate.description.empty());
      CHECK(candidate.description.size() <= 80);
      CHECK(candidate.description.find_first_of("\t\n") == std::string::npos);
    }
  }
}
