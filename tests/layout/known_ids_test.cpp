#include <doctest/doctest.h>
#include <leaf/layout.hpp>

#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct KnownId {
  std::int64_t id;
  std::string layout;
  std::int64_t unix_ms;
  std::string fields;
};

std::vector<KnownId> known_ids() {
  std::ifstream file(KNOWN_IDS);
  std::vector<KnownId> ids;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream columns(line);
    std::string id, layout, unix_ms, fields;
    std::getline(columns, id, '\t');
    std::getline(columns, layout, '\t');
    std::getline(columns, unix_ms, '\t');
    std::getline(columns, fields, '\t');
    ids.push_back({std::stoll(id), layout, std::stoll(unix_ms), fields});
  }
  return ids;
}

std::string fields_of(const leaf::Layout& layout, std::int64_t id) {
  std::string text;
  for (const auto& field : layout.fields()) {
    if (field.role() == leaf::LayoutField::Role::time) continue;
    if (!text.empty()) text += ' ';
    text += std::string(field.name()) + '=' + std::to_string(field.of(id));
  }
  return text;
}

}  // namespace

TEST_CASE("layout: IDs that others published hold what they said") {
  for (const auto& known : known_ids()) {
    CAPTURE(known.id);
    const auto layout = leaf::Layout::parse(known.layout);
    CHECK(layout.decompose(known.id).time.time_since_epoch().count() == known.unix_ms);
    CHECK(fields_of(layout, known.id) == known.fields);
  }
}

TEST_CASE("layout: IDs that others published are composed from what they hold") {
  for (const auto& known : known_ids()) {
    const auto layout = leaf::Layout::parse(known.layout);
    const auto decoded = layout.decompose(known.id);
    CHECK(layout.compose(decoded.time, decoded.worker, decoded.sequence) == known.id);
  }
}

TEST_CASE("layout: each known layout has at least two published IDs") {
  std::map<std::string, int> count;
  for (const auto& known : known_ids()) ++count[known.layout.substr(0, known.layout.find(':'))];
  for (const auto& layout : leaf::known_layouts()) CHECK(count[std::string(layout.name)] >= 2);
}
