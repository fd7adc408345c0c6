#include "completion/completion_values.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "cli/command_tree.hpp"
#include "leaf/error.hpp"
#include "leaf/layout.hpp"
#include "leaf/store.hpp"
#include "tags/tag_record.hpp"
#include "text/text_escape.hpp"

namespace leafctl {

namespace {

using Candidates = std::vector<Candidate>;

constexpr std::string_view sqlite = "sqlite:";

leaf::Store store(const CompletionCursor& cursor) {
  const Configuration configuration = resolve_settings(cursor.settings, environment_of_this_process());
  return leaf::Store({.url = configuration.settings.store,
                      .timeout = std::chrono::milliseconds::zero(),
                      .program = program_name});
}

Candidates tags(const CompletionCursor& cursor) {
  Candidates result;
  for (const leaf::Tag& tag : store(cursor).tags()) {
    if (!is_tag_name(tag.name)) continue;
    result.push_back(
        {tag.name, tag.description.empty() ? describe(tag) : escape_for_terminal(tag.description)});
  }
  return result;
}

Candidates workers(const CompletionCursor& cursor) {
  Candidates result;
  for (const leaf::Worker& worker : store(cursor).workers()) {
    result.push_back({fmt::format("{}", worker.id),
                      worker.owner.empty() ? "free" : "of " + escape_for_terminal(worker.owner)});
  }
  return result;
}

Candidates layouts(const CompletionCursor&) {
  Candidates result;
  for (const leaf::KnownLayout& layout : leaf::known_layouts()) {
    result.push_back({std::string(layout.name), std::string(layout.summary)});
  }
  return result;
}

Candidates files(const CompletionCursor&) {
  return {{"", ""}};
}

Candidates stores(const CompletionCursor& cursor) {
  if (cursor.value().starts_with(sqlite)) return {{"", std::string(sqlite)}};
  Candidates result;
  const auto files =
      leaf::HostConfiguration::read(environment_of_this_process(), cursor.settings.config_file);
  for (const auto& [name, store] : files.stores())
    result.push_back({name, escape_for_terminal(leaf::redact_url(store.text))});
  result.push_back({std::string(sqlite), "a file"});
  result.push_back({"postgresql://", "a PostgreSQL by host and database"});
  result.push_back({"service=", "a PostgreSQL by an entry of pg_service.conf"});
  return result;
}

/// The words of a command, of which those before the cursor are arguments.
Candidates commands(const CompletionCursor& cursor) {
  CommandLine command_line(cursor.commands);
  CLI::App* group = &command_line.root();
  for (const std::string& word : cursor.arguments) {
    group = command_line.find_command(*group, word);
    if (group == nullptr) return {};
  }
  Candidates result;
  for (const CLI::App* command : subcommands_of(*group)) {
    result.push_back({name_of(*command), description_of(*command)});
  }
  return result;
}

struct Kind {
  std::string_view value_name;
  Candidates (*values)(const CompletionCursor&);
};

constexpr Kind kinds[] = {{"COMMAND", commands}, {"FILE", files}, {"LAYOUT", layouts},
                          {"TAG", tags},         {"URL", stores}, {"WORKER", workers}};

bool is_literal(std::string_view text) {
  return !text.empty() && std::ranges::none_of(text, [](char c) { return c >= 'A' && c <= 'Z'; });
}

/// For one of the names that `|` parts: a kind in capitals, or the value itself.
Candidates values_of_part(const std::string& name, const CompletionCursor& cursor) {
  const auto* const kind = std::ranges::find(kinds, name, &Kind::value_name);
  if (kind != std::end(kinds)) return kind->values(cursor);
  return is_literal(name) ? Candidates{{name, ""}} : Candidates();
}

}  // namespace

Candidates candidate_values(const std::string& value_name, const CompletionCursor& cursor) {
  Candidates result;
  for (std::size_t begin = 0; begin <= value_name.size();) {
    const std::size_t end = std::min(value_name.find('|', begin), value_name.size());
    Candidates part = values_of_part(value_name.substr(begin, end - begin), cursor);
    result.insert(result.end(), part.begin(), part.end());
    begin = end + 1;
  }
  return result;
}

}  // namespace leafctl
