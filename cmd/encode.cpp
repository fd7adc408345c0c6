#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "cli/declaration.hpp"
#include "commands.hpp"
#include "ids/decoded_record.hpp"
#include "ids/layout_options.hpp"
#include "text/hint.hpp"
#include "text/time_text.hpp"

namespace leafctl {

namespace {

using leaf::LayoutField;

/// The values of an ID's fields, each set once at most.
class FieldValues {
 public:
  /// `text` is the value, given by `option`. Throws leaf::Error (usage).
  void set(std::string_view option, std::string_view text, const LayoutField& field) {
    const auto value = parse_integer(option, text, {0, field.max()});
    if ((set_ & field.in_place(field.max())) != 0) {
      throw leaf::Error(leaf::ErrorCode::usage, fmt::format("the field '{}' is set twice", field.name()));
    }
    set_ |= field.in_place(field.max());
    bits_ |= field.in_place(value);
  }

  /// The ID's bits that the values make.
  std::int64_t bits() const noexcept { return bits_; }

 private:
  std::int64_t set_ = 0;
  std::int64_t bits_ = 0;
};

class Encode : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe("Prints the snowflake ID of a time, a worker and a sequence number.");
    command.add_text_option(
        "--time", "TIME", time_,
        "2022-06-28T16:07:40.105Z, 2022-06-28 (midnight, UTC), today, yesterday, tomorrow, now, now-1h, "
        "today-7d or Unix milliseconds",
        Presence::required);
    command.add_text_option(
        "--worker", "N", worker_,
        "the field 'worker', or the layout's only one of its kind, such as 'machine' (default: 0)");
    command.add_text_option("--sequence", "N", sequence_, "the sequence number (default: 0)");
    command.add_texts_option("--field", "NAME=N", fields_,
                             "any field by its name, such as datacenter=11; may be repeated");
    layout_.declare(command);
    command.add_examples(
        "Prints the ID; with -o json also what it holds, as 'leafctl decode' does.\n"
        "It does not consult a store, so the ID may exist already.\n\n"
        "Examples:\n"
        "  leafctl encode --time 2020-05-02T12:13:44.602Z --worker 619 --sequence 18\n"
        "  leafctl encode --time now --layout twitter --field datacenter=11");
  }

  bool uses_store() const override { return false; }

  void run(Session& session) override {
    const auto layout = layout_.layout(session.settings());
    const auto time = parse_time("--time", *time_, current_time());
    FieldValues values;
    if (worker_) values.set("--worker", *worker_, worker_field(layout));
    if (sequence_) values.set("--sequence", *sequence_, named_field(layout, "sequence", "--sequence"));
    for (const auto& field : fields_) set_by_name(layout, field, values);
    const auto id = layout.compose(layout.ticks_at(time), values.bits(), 0);
    if (session.output.format() == OutputFormat::json) {
      std::string line;
      DecodedRecord(layout).append_json(id, line);
      session.output.print_text(line);
    } else {
      session.output.print_text(fmt::format("{}\n", id));
    }
  }

 private:
  [[noreturn]] static void refuse_field(const leaf::Layout& layout, std::string_view option,
                                        std::string_view name) {
    std::string names;
    for (const auto& field : layout.fields())
      names += fmt::format("{}{}", names.empty() ? "" : ", ", field.name());
    throw leaf::Error(
        leaf::ErrorCode::usage,
        fmt::format("'{}' does not fit layout '{}', which has no field '{}'", option, layout.name(), name),
        fmt::format("its fields are {}"_hint, names));
  }

  static const LayoutField& named_field(const leaf::Layout& layout, std::string_view name,
                                        std::string_view option) {
    const auto* field = layout.field(name);
    if (field == nullptr) refuse_field(layout, option, name);
    return *field;
  }

  // The field 'worker', else the only one that is neither time nor sequence.
  static const LayoutField& worker_field(const leaf::Layout& layout) {
    if (const auto* field = layout.field("worker")) return *field;
    const LayoutField* only = nullptr;
    for (const auto& field : layout.fields()) {
      if (field.role() != LayoutField::Role::worker) continue;
      if (only != nullptr) refuse_field(layout, "--worker", "worker");
      only = &field;
    }
    if (only == nullptr) refuse_field(layout, "--worker", "worker");
    return *only;
  }

  static void set_by_name(const leaf::Layout& layout, std::string_view text, FieldValues& values) {
    const auto equals = text.find('=');
    const auto name = text.substr(0, equals);
    if (equals == text.npos || name == "time") {
      throw leaf::Error(leaf::ErrorCode::usage,
                        fmt::format("'--field' takes a name and a number, not '{}'", text),
                        "write it as in '--field datacenter=11'; the time is set with '--time'"_hint);
    }
    values.set(fmt::format("--field {}", name), text.substr(equals + 1),
               named_field(layout, name, "--field"));
  }

  std::optional<std::string> time_;
  std::optional<std::string> worker_;
  std::optional<std::string> sequence_;
  std::vector<std::string> fields_;
  LayoutOptions layout_;
};

}  // namespace

std::unique_ptr<Command> make_encode() {
  return std::make_unique<Encode>();
}

}  // namespace leafctl
