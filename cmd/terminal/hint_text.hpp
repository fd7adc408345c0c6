#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace leafctl {

/// What leads a command to the store and to the host's folder that are meant: another folder knows nothing of
/// what was granted to this one.
struct HintedOptions {
  std::optional<std::string> config{};
  /// A URL, or the name of a store. A password, which others would see, is left out with the rest of the URL.
  std::optional<std::string> store{};
  std::optional<std::string> runtime_dir{};
  std::optional<bool> group{};  ///< for commands that take --group
};

/// `hint` with `options` in each command of this program that it names: they would else be missing where the
/// reader follows the hint. An option that a command has already stays as it is.
std::string with_options(std::string_view hint, const HintedOptions& options);

/// `hint` for a reader whose commands may lead to another store: what helps one store may harm another, so
/// each command names the store at `url`.
std::string hint_for_store(std::string_view hint, const std::string& url);

}  // namespace leafctl
