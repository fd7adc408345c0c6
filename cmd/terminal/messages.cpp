#include "terminal/messages.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "terminal/remedy_text.hpp"
#include "text/color.hpp"
#include "text/text_escape.hpp"

namespace leafctl {

void Messages::info(std::string_view text) {
  if (level_ != Level::quiet) print(readable(text) + "\n");
}

void Messages::warning(std::string_view text, std::string_view hint) {
  if (level_ != Level::quiet) alarm(text, hint);
}

void Messages::alarm(std::string_view text, std::string_view hint) {
  std::string lines = fmt::format("leafctl: {} {}\n", paint(bold_yellow, "warning:", color_), readable(text));
  lines += hint_line(hint);
  print(lines);
}

void Messages::progress(std::string_view text) {
  // A line that goes on in the next one cannot be taken back.
  if (shows_progress()) print("\r\033[K" + escape_for_terminal(text).substr(0, file_.line_width() - 1));
}

bool Messages::shows_progress() const noexcept {
  return able_terminal_ && is_terminal() && level_ != Level::quiet;
}

void Messages::detail(std::string_view text) {
  if (level_ == Level::verbose) print(readable(text) + "\n");
}

void Messages::error(const leaf::Error& error) {
  this->error(error.what(), hint_text(error));
}

void Messages::error(std::string_view text, std::string_view hint) {
  std::string lines = fmt::format("{} {}\n", paint(bold_red, "leafctl:", color_), readable(text));
  lines += hint_line(hint);
  print(lines);
}

bool Messages::confirm(std::string_view question) {
  print(escape_for_terminal(question) + " [y/N] ");
  std::string answer;
  char c = 0;
  while (read(STDIN_FILENO, &c, 1) == 1 && c != '\n') answer += c;
  return answer == "y" || answer == "Y" || answer == "yes";
}

std::string Messages::hint_line(std::string_view hint) const {
  if (hint.empty()) return {};
  return fmt::format("{} {}\n", paint(cyan, "hint:", color_), readable(hint));
}

std::string Messages::with_hinted_options(std::string_view text) const {
  return with_options(text, hinted_options_);
}

std::string Messages::readable(std::string_view text) const {
  return escape_for_terminal(with_hinted_options(text));
}

void Messages::print(const std::string& text) {
  try {
    file_.write(text);
  } catch (const leaf::Error&) {
    // There is nowhere left to say it; the exit status still tells.
  } catch (const BrokenPipe&) {
  }
}

}  // namespace leafctl
