#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace leafctl {

/// Thrown when the reader of a pipe has gone and SIGPIPE is ignored: nobody wants the rest, so nothing is to
/// be said.
struct BrokenPipe {};

/// A file descriptor that takes whole lines, every write checked. Borrows the descriptor. Into a pipe no line
/// of up to PIPE_BUF bytes, its newline included, is torn by other writers.
class OutputFile {
 public:
  /// `name` is what errors call it, such as "standard output".
  OutputFile(int descriptor, std::string name);

  /// Writes all of `lines`, which end with a newline, and returns when the kernel has them.
  /// Throws leaf::Error (failed); BrokenPipe; Interrupted, after a whole line, if an InterruptGuard noted a
  /// signal.
  void write(std::string_view lines);

  /// Closes the descriptor, which is when some file systems report that they lost what was written.
  /// Throws leaf::Error (failed).
  void close();

  bool is_terminal() const noexcept { return is_terminal_; }
  /// How many columns the terminal has; 80 if that is not known.
  std::size_t line_width() const noexcept;
  /// How wide prose may be: as a narrow terminal is, else 80.
  std::size_t prose_width() const noexcept;

 private:
  std::size_t end_of_piece(std::string_view lines, std::size_t begin, std::size_t end);
  bool is_pipe();
  [[noreturn]] void fail(int error) const;

  int descriptor_;
  std::string name_;
  bool is_terminal_;
  std::optional<bool> is_pipe_;  ///< not looked at before it matters
};

}  // namespace leafctl
