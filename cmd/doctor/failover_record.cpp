#include "doctor/failover_record.hpp"

namespace leafctl {

namespace {

const char* name_of(leaf::FailoverTag::State state) {
  using State = leaf::FailoverTag::State;
  switch (state) {
    case State::waiting:
      return "waiting";
    case State::left_out:
      return "left_out";
    case State::no_room:
      return "no_room";
    case State::kept:
      break;
  }
  return "kept";
}

Cell text_or_nothing(const std::string& text) {
  return text.empty() ? Cell() : Cell(text);
}

constexpr Column<FailoverRecord> columns[] = {
    {"kind", [](const FailoverRecord& record) -> Cell { return record.kind; }},
    {"name", [](const FailoverRecord& record) -> Cell { return text_or_nothing(record.name); }},
    {"state", [](const FailoverRecord& record) -> Cell { return record.state; }},
    {"left_out_first",
     [](const FailoverRecord& record) -> Cell {
       return record.left_out ? Cell(Id{record.left_out->lo}) : Cell();
     }},
    {"left_out_last",
     [](const FailoverRecord& record) -> Cell {
       return record.left_out ? Cell(Id{record.left_out->hi - 1}) : Cell();
     }},
    {"until",
     [](const FailoverRecord& record) -> Cell { return record.until ? Cell(*record.until) : Cell(); }},
    {"granted_by", [](const FailoverRecord& record) -> Cell { return text_or_nothing(record.granted_by); }},
};

}  // namespace

FailoverRecords records_of(const std::vector<leaf::FailoverTag>& tags) {
  FailoverRecords records;
  for (const leaf::FailoverTag& tag : tags) {
    records.push_back({.kind = "tag",
                       .name = tag.name,
                       .state = name_of(tag.state),
                       .granted_by = tag.granted_by,
                       .left_out = tag.left_out});
  }
  return records;
}

FailoverRecord record_of_workers(const leaf::Failover& found) {
  return {.kind = "workers", .state = found.leases_wait ? "waiting" : "leased", .until = found.leases_from};
}

void print(const FailoverRecords& records, Output& output) {
  output.print_list(columns, records);
}

}  // namespace leafctl
