#include "host/failure_advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

namespace leaf::host {

namespace {

/// A line: the kind, where it fits in, its number or '-', a name that may be empty.
std::string line_of(const Remedy& remedy) {
  return fmt::format("{} {} {} {}\n", static_cast<int>(remedy.kind), remedy.at,
                     remedy.number ? std::to_string(*remedy.number) : "-", remedy.name);
}

std::optional<Remedy> remedy_of(const std::string& line) {
  std::istringstream words(line);
  int kind = 0;
  Remedy remedy{};
  std::string number;
  if (!(words >> kind >> remedy.at >> number)) return std::nullopt;
  remedy.kind = static_cast<Remedy::Kind>(kind);
  if (number != "-") {
    std::istringstream digits(number);
    if (!(digits >> remedy.number.emplace())) return std::nullopt;
  }
  words.ignore();
  std::getline(words, remedy.name);
  return remedy;
}

std::uint64_t checksum_of(const SharedState& state) {
  return Hash().add(state.fetch.failure_hint.get()).value();
}

}  // namespace

void set_failure_advice(SharedState& state, const Advice& advice) {
  std::string lines;
  for (const Remedy& remedy : advice.remedies) {
    const std::string line = line_of(remedy);
    // A name with a line end would be taken for two.
    if (std::ranges::count(line, '\n') == 1 && lines.size() + line.size() <= remedies_size) lines += line;
  }
  state.fetch.failure_hint.set(advice.hint);
  state.remedies.lines.set(lines);
  state.remedies.checksum_of_hint.store(checksum_of(state), std::memory_order_relaxed);
}

Advice failure_advice(const SharedState& state) {
  Advice advice = state.fetch.failure_hint.get();
  if (state.remedies.checksum_of_hint.load(std::memory_order_relaxed) != checksum_of(state)) return advice;
  std::istringstream lines(state.remedies.lines.get());
  for (std::string line; std::getline(lines, line);) {
    const auto remedy = remedy_of(line);
    if (remedy && remedy->at <= advice.hint.size()) advice.remedies.push_back(*remedy);
  }
  return advice;
}

}  // namespace leaf::host
