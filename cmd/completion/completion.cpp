#include "completion/completion.hpp"

#include <algorithm>

#include "cli/command_tree.hpp"
#include "completion/completion_values.hpp"

namespace leafctl {

namespace {

/// The part of a help text that fits beside a candidate.
std::string first_clause(const std::string& help) {
  return help.substr(0, std::min({help.find(": "), help.find("; "), help.find(" (")}));
}

std::vector<Candidate> commands(const CLI::App& group) {
  std::vector<Candidate> result;
  for (const CLI::App* command : subcommands_of(group)) {
    result.push_back({name_of(*command), description_of(*command)});
  }
  return result;
}

std::vector<Candidate> options(const CompletionCursor& cursor) {
  std::vector<Candidate> result;
  for (const CLI::Option* option : options_of(*cursor.command)) {
    if (!takes_many(*option) && std::ranges::find(cursor.given, option) != cursor.given.end()) continue;
    const std::string description = first_clause(description_of(*option));
    for (const std::string& name : long_names_of(*option)) result.push_back({"--" + name, description});
    for (const std::string& name : short_names_of(*option)) result.push_back({"-" + name, description});
  }
  return result;
}

/// The argument that the word at the cursor would be; null where the command takes no more.
const CLI::Option* argument(const CompletionCursor& cursor) {
  const auto arguments = arguments_of(*cursor.command);
  if (cursor.arguments.size() < arguments.size()) return arguments[cursor.arguments.size()];
  return !arguments.empty() && takes_many(*arguments.back()) ? arguments.back() : nullptr;
}

std::vector<Candidate> arguments(const CLI::Option& argument, const CompletionCursor& cursor) {
  std::vector<Candidate> result = candidate_values(value_name_of(argument), cursor);
  std::erase_if(result, [&](const Candidate& candidate) {
    const bool looks_like_option = candidate.word.starts_with('-') && !cursor.options_ended;
    return looks_like_option || std::ranges::find(cursor.arguments, candidate.word) != cursor.arguments.end();
  });
  return result;
}

std::vector<Candidate> option_values(const CompletionCursor& cursor) {
  if (!takes_value(*cursor.option)) return {};
  std::vector<Candidate> result = candidate_values(value_name_of(*cursor.option), cursor);
  for (Candidate& candidate : result) {
    (candidate.word.empty() ? candidate.description : candidate.word).insert(0, cursor.prefix);
  }
  return result;
}

}  // namespace

std::vector<Candidate> candidates_at(const CompletionCursor& cursor) {
  if (cursor.option != nullptr) return option_values(cursor);
  if (!cursor.options_ended && cursor.word.starts_with('-')) return options(cursor);
  if (!subcommands_of(*cursor.command).empty()) {
    return cursor.arguments.empty() ? commands(*cursor.command) : std::vector<Candidate>();
  }
  if (const CLI::Option* next = argument(cursor)) return arguments(*next, cursor);
  return cursor.options_ended ? std::vector<Candidate>() : options(cursor);
}

}  // namespace leafctl
