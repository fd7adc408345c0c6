// Lines of IDs as they come in, in any pieces: each line is the ID that it says, or is reported by its
// number.
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "audit/id_input.hpp"
#include "fuzz/fuzz.hpp"
#include "terminal/line_reader.hpp"

namespace {

using leaf::fuzz::Choices;
using leaf::fuzz::require;

struct Expected {
  std::vector<std::int64_t> ids;
  std::vector<std::size_t> bad;  ///< the numbers of lines without one
};

Expected expected(std::string_view text) {
  Expected result;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  for (std::size_t line = 1; !text.empty(); ++line) {
    const auto end = std::min(text.find('\n'), text.size());
    std::string_view id = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (id.ends_with('\r')) id.remove_suffix(1);
    const bool is_short = !id.empty() && id.size() <= 19 && id.find_first_not_of("0123456789") == id.npos;
    const bool is_whole = is_short && (id.size() == 1 || id[0] != '0');
    const std::uint64_t number = is_whole ? std::stoull(std::string(id)) : ~0ULL;
    if (number <= INT64_MAX) {
      result.ids.push_back(static_cast<std::int64_t>(number));
    } else {
      result.bad.push_back(line);
    }
  }
  return result;
}

/// A descriptor from which each read() gets the next piece, as far as it has room for it.
int served(const std::vector<std::string>& pieces, int& other_end) {
  int ends[2];
  require(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0, "the system has sockets");
  for (const std::string& piece : pieces)
    require(write(ends[1], piece.data(), piece.size()) == static_cast<ssize_t>(piece.size()),
            "a piece is sent");
  shutdown(ends[1], SHUT_WR);
  other_end = ends[1];
  return ends[0];
}

/// A file, for texts that one read() has no room for.
int filed(const std::string& text) {
  const int file = memfd_create("input", MFD_CLOEXEC);
  require(write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size()), "a file is written");
  lseek(file, 0, SEEK_SET);
  return file;
}

std::string content_of(int file) {
  std::string text(static_cast<std::size_t>(lseek(file, 0, SEEK_END)), '\0');
  require(pread(file, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()), "a file is read");
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices(data, size);
  const std::size_t longest = 1 + choices.below(64);
  const bool has_long_line = choices.below(16) == 1;
  std::string text(choices.rest());
  if (has_long_line) text.insert(text.size() / 2, leafctl::LineReader::max_line + longest - 32, '7');
  std::vector<std::string> pieces;
  for (std::size_t at = 0; at < text.size(); at += longest) pieces.push_back(text.substr(at, longest));
  if (!has_long_line && pieces.size() > 200) return 0;  // more than a socket holds

  int other_end = -1;
  const int input = has_long_line ? filed(text) : served(pieces, other_end);
  const int said = memfd_create("said", MFD_CLOEXEC);
  std::vector<std::int64_t> ids;
  std::uint64_t bad = 0;
  {
    leafctl::OutputFile file(said, "what is said");
    leafctl::Messages messages(file);
    leafctl::LineReader reader(input, "a socket");
    leafctl::IdInput lines(
        {.layout = leaf::Layout::parse("mastodon")},
        [&](auto some) { ids.insert(ids.end(), some.begin(), some.end()); }, messages);
    lines.read_lines([&] { return reader.next_lines(); });
    bad = lines.bad();
    require(lines.count() == ids.size(), "IDs are counted", text);
  }
  const std::string errors = content_of(said);
  for (const int descriptor : {input, other_end, said}) {
    if (descriptor >= 0) close(descriptor);
  }

  const Expected wanted = expected(text);
  require(ids == wanted.ids, "each line is the ID that it says", text);
  require(bad == wanted.bad.size(), "lines without one are counted", text);
  std::size_t at = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(wanted.bad.size(), leafctl::IdInput::most_reports); ++i) {
    at = errors.find("line " + std::to_string(wanted.bad[i]) + ": ", at);
    require(at != std::string::npos, "lines without one are reported by their numbers", text);
    ++at;
  }
  return 0;
}
