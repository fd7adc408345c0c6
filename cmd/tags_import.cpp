#include <fmt/format.h>

#include <map>

#include "cli/declaration.hpp"
#include "commands.hpp"
#include "leaf/detail/counted.hpp"
#include "leaf/error.hpp"
#include "leaf/tag_import.hpp"
#include "tags/buffered_ids.hpp"
#include "tags/granted_marks.hpp"
#include "tags/tag_csv.hpp"
#include "tags/tag_format.hpp"
#include "tags/tag_record.hpp"
#include "tags/tag_yaml.hpp"
#include "text/hint.hpp"

namespace leafctl {

namespace {

/// What was done, and to what other verb it belongs where nothing is done yet.
struct Verb {
  const char* done;
  const char* to_do;
};

Verb verb_of(leaf::TagImport::Action action) {
  switch (action) {
    case leaf::TagImport::Action::add:
      return {"added", "add"};
    case leaf::TagImport::Action::raise:
      return {"raised", "raise"};
    case leaf::TagImport::Action::change:
      return {"changed", "change"};
    case leaf::TagImport::Action::note:
      return {"noted", "note"};
    case leaf::TagImport::Action::nothing:
      break;
  }
  return {"unchanged", "leave"};
}

constexpr Column<leaf::TagImport> columns[] = {
    {"tag", [](const leaf::TagImport& import) -> Cell { return import.tag().name; }},
    {"action", [](const leaf::TagImport& import) -> Cell { return verb_of(import.action()).done; }},
    {"next_id", [](const leaf::TagImport& import) -> Cell { return Id{import.tag().next_id}; }},
    {"step",
     [](const leaf::TagImport& import) -> Cell {
       return import.tag().is_removed ? Cell() : Cell(import.tag().step);
     }},
    {"limit",
     [](const leaf::TagImport& import) -> Cell {
       return import.tag().limit ? Cell(Id{*import.tag().limit}) : Cell();
     }},
    {"description", [](const leaf::TagImport& import) -> Cell { return import.tag().description; }},
    {"state",
     [](const leaf::TagImport& import) -> Cell {
       return std::string(import.tag().is_removed ? "removed" : "live");
     }},
};

std::vector<leaf::ImportedTag> imported(const std::vector<FiledTag>& tags) {
  std::vector<leaf::ImportedTag> result;
  for (const FiledTag& tag : tags) {
    result.push_back({.name = tag.name,
                      .next_id = tag.next_id,
                      .step = tag.step,
                      .limit = tag.limit,
                      .description = tag.description,
                      .place = tag.place.text(),
                      .is_removed = tag.is_removed});
  }
  return result;
}

class TagsImport : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Adds the tags of a file, raises those that are behind it, and sets step, limit and description as "
        "in the file. No counter is lowered, values missing from the file are left as they are, and "
        "importing again changes "
        "nothing. A tag that the file calls removed is not added, and if it is added later goes on where it "
        "ended.");
    command.add_text_option("FILE", "FILE", file_, "what to import; - reads standard input",
                            Presence::required);
    format_.declare(command, "by the file's name or first line");
    command.add_flag("--dry-run", dry_run_, "say what would be done and change nothing");
    command.add_examples(
        "It takes what 'leafctl tags export' writes, and Leaf's own table from MySQL:\n"
        "biz_tag,max_id,step,description,update_time with or without a header, commas\n"
        "or tabs between, NULL and backslashes as MySQL writes them. The first ID is\n"
        "max_id, which is higher than all that Leaf has given out: stop Leaf first.\n"
        "If one line is wrong nothing is changed.\n\n"
        "Examples:\n"
        "  mysql -B leaf -e 'SELECT * FROM leaf_alloc' | leafctl tags import -\n"
        "  leafctl tags import --dry-run tags.yaml");
  }

  std::vector<std::string_view> setting_keys() const override {
    return {host_setting_keys.begin(), host_setting_keys.end()};
  }

  void run(Session& session) override {
    const auto named = format_.format();
    const InputFile file = InputFile::read(*file_);
    if (file.text.find_first_not_of(" \t\r\n") == std::string::npos) {
      throw leaf::Error(leaf::ErrorCode::usage, fmt::format("{} is empty", file.name),
                        "check whether the program that writes it has failed"_hint);
    }
    const TagFormat format = named.value_or(format_of(file));
    const TagFile content = format == TagFormat::yaml ? read_tag_yaml(file) : read_tag_csv(file);
    refuse_errors(content, file.name, session.messages);
    warn_of_missing_marks(session);
    leaf::Store store = session.store();
    const std::vector<leaf::ImportedTag> tags = imported(content.tags);
    const leaf::ImportPlan plan = dry_run_ ? leaf::plan_import(tags, store) : leaf::import_tags(tags, store);
    refuse_lost_tags(plan.lost, file.name, session.messages);
    if (!dry_run_) drop_what_lies_below(plan.tags, store, session);
    for (const leaf::TagImport& import : plan.tags) report(import, session);
    summarize(content.tags.size(), session.messages);
  }

 private:
  static void refuse_errors(const TagFile& content, const std::string& name, Messages& messages) {
    if (content.errors.empty()) return;
    if (content.errors.size() == 1) throw leaf::Error(content.errors.front());
    for (const leaf::Error& error : content.errors) messages.error(error);
    throw leaf::Error(leaf::ErrorCode::usage, fmt::format("'{}' has {} mistakes, so nothing was changed",
                                                          name, content.errors.size()));
  }

  /// Tags that the store lost would give IDs again that this host knows to be granted.
  static void refuse_lost_tags(const std::vector<leaf::Error>& errors, const std::string& file,
                               Messages& messages) {
    if (errors.empty()) return;
    for (const leaf::Error& error : errors) messages.error(error);
    throw leaf::Error(leaf::ErrorCode::refused,
                      fmt::format("{} of the tags in '{}' would begin below what was granted, so nothing was "
                                  "changed",
                                  errors.size(), file));
  }

  /// Below the numbers of the file, even if the tag had been raised already, by an import that could not drop
  /// it, or was removed by another host.
  static void drop_what_lies_below(const std::vector<leaf::TagImport>& tags, leaf::Store& store,
                                   Session& session) {
    std::vector<TagFloor> floors;
    for (const leaf::TagImport& import : tags) {
      const leaf::Tag& tag = import.tag();
      if (!tag.is_removed) floors.push_back({leaf::TagName(tag.name), import.passed().value_or(tag.next_id)});
    }
    if (!floors.empty()) drop_buffered_ids(store, floors, session);
  }

  void report(const leaf::TagImport& import, Session& session) {
    const leaf::Tag& tag = import.tag();
    const Verb verb = verb_of(import.action());
    const char* const noun = tag.is_removed ? "removed tag" : "tag";
    ++counts_[verb.done];
    if (import.action() != leaf::TagImport::Action::nothing) {
      session.messages.info(fmt::format(
          "{} {} '{}': {}", dry_run_ ? fmt::format("would {}", verb.to_do) : verb.done, noun, tag.name,
          tag.is_removed ? fmt::format("if it is added again, its next ID is {}", tag.next_id)
                         : describe(tag)));
    }
    if (const auto passed = import.passed()) {
      session.messages.info(
          fmt::format("{} '{}' stays at next ID {}: the file has {}", noun, tag.name, tag.next_id, *passed));
    }
    if (session.output.format() == OutputFormat::json) session.output.print_one(columns, import);
    session.output.flush();
  }

  void summarize(std::size_t tags, Messages& messages) const {
    std::string list;
    for (const auto& [verb, count] : counts_)
      list += fmt::format("{}{} {}", list.empty() ? ": " : ", ", count, verb);
    messages.info(leaf::detail::counted(static_cast<std::int64_t>(tags), "tag") +
                  (dry_run_ ? " in a dry run" : "") + list);
  }

  std::optional<std::string> file_;
  TagFormatOption format_;
  bool dry_run_ = false;
  std::map<std::string, std::size_t> counts_;
};

}  // namespace

std::unique_ptr<Command> make_tags_import() {
  return std::make_unique<TagsImport>();
}

}  // namespace leafctl
