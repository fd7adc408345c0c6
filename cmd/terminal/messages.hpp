#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "leaf/error.hpp"
#include "terminal/hint_text.hpp"
#include "terminal/output_file.hpp"

namespace leafctl {

/// Everything for the reader that is not data: goes to standard error, one escaped line each.
class Messages {
 public:
  enum class Level { quiet, normal, verbose };

  explicit Messages(OutputFile& file, bool color = false) : file_(file), color_(color) {}

  /// Says whether the terminal, if there is one, can take a line back.
  void set_able_terminal(bool able) noexcept { able_terminal_ = able; }

  /// What each command that a message or hint names is to be given: what helps one store may harm another.
  void set_hinted_options(HintedOptions options) { hinted_options_ = std::move(options); }
  /// With that; see hint_text.hpp.
  std::string with_hinted_options(std::string_view text) const;

  void set_level(Level level) noexcept { level_ = level; }
  void set_color(bool color) noexcept { color_ = color; }
  bool is_quiet() const noexcept { return level_ == Level::quiet; }
  bool is_terminal() const noexcept { return file_.is_terminal(); }

  /// What was done; not when quiet.
  void info(std::string_view text);
  /// What the reader should see to; not when quiet.
  void warning(std::string_view text, std::string_view hint = {});
  /// A warning that IDs may repeat: printed however quiet the program is to be.
  void alarm(std::string_view text, std::string_view hint);
  /// How far it has come, in place of the last progress, as far as it fits; an empty text wipes that. Only on
  /// a terminal that can take a line back, and not when quiet.
  void progress(std::string_view text);
  /// True if progress() shows anything.
  bool shows_progress() const noexcept;
  /// How it was done; only when verbose.
  void detail(std::string_view text);
  void error(const leaf::Error& error);
  void error(std::string_view text, std::string_view hint = {});
  /// Asks on the terminal and returns true if the answer on standard input is yes.
  bool confirm(std::string_view question);

 private:
  std::string hint_line(std::string_view hint) const;
  std::string readable(std::string_view text) const;
  void print(const std::string& text);

  OutputFile& file_;
  Level level_ = Level::normal;
  bool color_;
  bool able_terminal_ = false;
  HintedOptions hinted_options_;
};

}  // namespace leafctl
