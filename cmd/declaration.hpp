#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "leaf/tag.hpp"
#include "numbers.hpp"

namespace leafctl {

// CLI11 reads 0x10 as 16, wraps what overflows and drops an empty text; here the text itself is taken and
// converted strictly. `target` has to outlive the parsing. `names` are as in CLI11: "-n,--count", or "TAG"
// for an argument. A bad value throws leaf::Error (usage) out of the parsing. `value_name` also tells shells
// which values to propose: see candidate_values().

CLI::Option* add_text_option(CLI::App& app, const std::string& names, const std::string& value_name,
                             std::optional<std::string>& target, const std::string& help);

/// An option that may be repeated, or an argument that takes many: `target` gets all texts. `value_name` is
/// empty for an argument.
CLI::Option* add_texts_option(CLI::App& app, const std::string& names, const std::string& value_name,
                              std::vector<std::string>& target, const std::string& help);

CLI::Option* add_integer_option(CLI::App& app, const std::string& names, const std::string& value_name,
                                std::optional<std::int64_t>& target, IntegerBounds bounds,
                                const std::string& help);

/// The argument ID: one worker.
CLI::Option* add_worker_argument(CLI::App& app, std::optional<std::int64_t>& target, const std::string& help);

/// The argument ID...: any number of workers.
CLI::Option* add_workers_argument(CLI::App& app, std::vector<std::int64_t>& target, const std::string& help);

/// The argument TAG, which is required: the name of a tag that exists.
CLI::Option* add_tag_argument(CLI::App& app, std::optional<leaf::TagName>& target, const std::string& help);

}  // namespace leafctl
