#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace leafctl {

/// How wide text is that no narrower terminal asks for.
inline constexpr std::size_t usual_line_width = 80;

/// What is done about a word that is longer than a line.
enum class LongWords {
  whole,  ///< such as a path, so that it can be copied
  broken,
};

/// Breaks `text` at blanks, so that lines which begin at column `indent` stay within `line_width` columns.
std::vector<std::string> wrap(const std::string& text, std::size_t indent,
                              std::size_t line_width = usual_line_width,
                              LongWords long_words = LongWords::whole);

/// The same as one text that ends with a newline: its first line has reached the column `indent` already.
std::string block(const std::string& text, std::size_t indent, std::size_t line_width);

/// `text`, in which lines that are longer than `line_width` go on below, a little further in. Longer words
/// are broken.
std::string fold(std::string_view text, std::size_t line_width);

/// The same for prose with examples: what stands at the margin is filled anew, up to an empty line; what is
/// set in is folded line by line.
std::string refill(std::string_view text, std::size_t line_width);

}  // namespace leafctl
