#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/cli11.hpp"
#include "leaf/tag.hpp"
#include "text/numbers.hpp"

namespace leafctl {

/// Whether a command line may leave an option or argument out.
enum class Presence { optional, required };

/// What a command says of itself before anything is parsed.
///
/// CLI11 reads 0x10 as 16, wraps what overflows and drops an empty text; here the text itself is taken and
/// converted strictly. `target` has to outlive the parsing. `names` are as in CLI11: "-n,--count", or "TAG"
/// for an argument. A bad value throws leaf::Error (usage) out of the parsing. `value_name` also tells shells
/// which values to propose: see candidate_values(). Texts are views, since most of them are not used.
class Declaration {
 public:
  enum class Extent {
    all,
    arguments,  ///< for a line that names no option: what it cannot mention is not made
  };

  /// Declares to `app`, which has to live longer.
  explicit Declaration(CLI::App& app, Extent extent = Extent::all) noexcept : app_(app), extent_(extent) {}

  /// What the command does, as the head of its help.
  void describe(std::string_view text);

  /// What ends its help, with examples.
  void add_examples(std::string_view text);

  /// An option without a value.
  void add_flag(std::string_view names, bool& target, std::string_view help);

  void add_text_option(std::string_view names, std::string_view value_name,
                       std::optional<std::string>& target, std::string_view help,
                       Presence presence = Presence::optional);

  /// An option whose value may be left out: `target` is empty then. It takes the next word unless that is an
  /// option, so it is for commands without arguments. `value_name` says so by brackets: "[SCHEMA]".
  void add_text_option_or_flag(std::string_view names, std::string_view value_name,
                               std::optional<std::string>& target, std::string_view help);

  /// An option that may be repeated: `target` gets all texts.
  void add_texts_option(std::string_view names, std::string_view value_name, std::vector<std::string>& target,
                        std::string_view help);

  /// An argument that takes any number of texts.
  void add_texts_argument(std::string_view name, std::string_view value_name,
                          std::vector<std::string>& target, std::string_view help);

  void add_integer_option(std::string_view names, std::string_view value_name,
                          std::optional<std::int64_t>& target, IntegerBounds bounds, std::string_view help);

  /// The argument ID: one worker.
  void add_worker_argument(std::optional<std::int64_t>& target, std::string_view help);

  /// The argument ID...: any number of workers.
  void add_workers_argument(std::vector<std::int64_t>& target, std::string_view help);

  /// The argument TAG: the name of a tag that exists.
  void add_tag_argument(std::optional<leaf::TagName>& target, std::string_view help,
                        Presence presence = Presence::required);

  /// The argument TAG, which is required: a name that no tag has yet.
  void add_new_tag_argument(std::optional<leaf::TagName>& target, std::string_view help);

  /// The flags of the setting `key`, whose text `target` gets.
  void add_setting(std::string_view key, std::optional<std::string>& target);

 private:
  bool leaves_out(std::string_view names, Presence presence = Presence::optional) const;

  CLI::App& app_;
  Extent extent_;
};

}  // namespace leafctl
