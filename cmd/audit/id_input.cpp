#include "audit/id_input.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include "terminal/line_reader.hpp"
#include "text/grouped.hpp"

namespace leafctl {

namespace {

constexpr std::size_t batch = 4096;
constexpr std::chrono::milliseconds between_progress{500};

constexpr std::size_t word = sizeof(std::uint64_t);

std::uint64_t load(const char* text) {
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, text, word);
  return bytes;
}

/// Whether eight bytes are all digits.
bool are_digits(std::uint64_t bytes) {
  constexpr std::uint64_t zeros = 0x3030303030303030;
  constexpr std::uint64_t high_halves = 0xF0F0F0F0F0F0F0F0;
  constexpr std::uint64_t to_next_half = 0x0606060606060606;
  return ((bytes & high_halves) ^ zeros) == 0 && (((bytes + to_next_half) & high_halves) ^ zeros) == 0;
}

/// The number of eight digits, the first one in the lowest byte: neighbours are joined to numbers of two
/// digits, these to ones of four, and these to the one of eight.
std::uint64_t number_of(std::uint64_t bytes) {
  bytes = (bytes & 0x0F0F0F0F0F0F0F0F) * 2561 >> 8;
  bytes = (bytes & 0x00FF00FF00FF00FF) * 6553601 >> 16;
  return (bytes & 0x0000FFFF0000FFFF) * 42949672960001 >> 32;
}

/// Reads digits from `at` on, up to `end` at most, and leaves `at` behind them. What has more than 19 of them
/// is some number.
std::uint64_t read_digits(const char*& at, const char* end) {
  std::uint64_t number = 0;
  if constexpr (std::endian::native == std::endian::little) {
    for (int i = 0; i < 2 && static_cast<std::size_t>(end - at) >= word; ++i) {
      const std::uint64_t bytes = load(at);
      if (!are_digits(bytes)) break;
      number = number * 100'000'000 + number_of(bytes);
      at += word;
    }
  }
  for (; at != end && static_cast<unsigned char>(*at - '0') < 10; ++at)
    number = number * 10 + static_cast<unsigned char>(*at - '0');
  return number;
}

std::string_view without_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

IdInput::IdInput(Options options, Take take, Messages& messages)
    : options_(std::move(options)),
      take_(std::move(take)),
      messages_(messages),
      ids_(batch),
      next_progress_(std::chrono::steady_clock::now() + between_progress) {}

void IdInput::read_lines(const NextLines& next_lines) {
  read(next_lines, [this](std::string_view lines) {
    if (!options_.form) return read_decimal(lines);
    while (!lines.empty()) {
      const auto end = std::min(lines.find('\n'), lines.size());
      read_line(lines.substr(0, end));
      lines.remove_prefix(std::min(end + 1, lines.size()));
    }
  });
  pass_on();
}

void IdInput::read_column(const NextLines& next_lines, const ColumnReader::Options& options) {
  ColumnReader column(options);
  read(next_lines, [&](std::string_view lines) {
    if (lines.size() == LineReader::max_line && !lines.ends_with('\n')) {
      read_fields(column, true);
      add(column.skip_line(fmt::format("it is longer than {} bytes", lines.size())));
    } else {
      column.add(lines);
      read_fields(column, false);
    }
  });
  read_fields(column, true);
  pass_on();
}

template <class TakeLines>
void IdInput::read(const NextLines& next_lines, TakeLines take_lines) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  bool is_first = true;
  for (std::string_view lines = next_lines(); !lines.empty(); lines = next_lines()) {
    if (std::exchange(is_first, false) && lines.starts_with(byte_order_mark))
      lines.remove_prefix(byte_order_mark.size());
    take_lines(lines);
    if (messages_.shows_progress()) show_progress();
  }
  if (messages_.shows_progress()) messages_.progress("");
}

void IdInput::read_decimal(std::string_view lines) {
  constexpr std::ptrdiff_t most_digits = 19;
  constexpr std::uint64_t greatest = std::numeric_limits<std::int64_t>::max();
  const char* at = lines.data();
  const char* const end = at + lines.size();
  while (at != end) {
    const char* const begin = at;
    const std::uint64_t number = read_digits(at, end);
    const std::ptrdiff_t digits = at - begin;
    const bool is_whole = digits == 1 || (digits > 1 && digits <= most_digits && *begin != '0');
    if (at != end && *at == '\r') ++at;
    if ((at == end || *at == '\n') && is_whole && number <= greatest) [[likely]] {
      ++line_;
      ids_[filled_++] = static_cast<std::int64_t>(number);
      if (filled_ == ids_.size()) pass_on();
    } else {
      at = std::find(begin, end, '\n');
      read_line({begin, at});
    }
    if (at != end) ++at;
  }
}

void IdInput::read_line(std::string_view line) {
  read_text(++line_, without_return(line));
}

void IdInput::read_fields(ColumnReader& column, bool is_last) {
  while (const auto field = column.next(is_last)) add(*field);
}

void IdInput::add(const ColumnReader::Field& field) {
  if (field.mistake.empty()) {
    read_text(field.line, field.text);
  } else {
    report(field.line, field.mistake);
  }
}

void IdInput::read_text(std::size_t line, std::string_view text) {
  const auto id =
      options_.form ? options_.form->read(text, options_.layout) : leaf::parse_id(text, options_.layout);
  if (!id) {
    const leaf::Error error = options_.form ? leaf::id_error(text, options_.layout, *options_.form)
                                            : leaf::id_error(text, options_.layout);
    return report(line, error.what());
  }
  ids_[filled_++] = *id;
  if (filled_ == ids_.size()) pass_on();
}

void IdInput::report(std::size_t line, std::string_view mistake) {
  if (++bad_ > most_reports) return;
  messages_.error(fmt::format("{} {}: {}", options_.line, line, mistake));
}

void IdInput::pass_on() {
  const std::size_t count = std::exchange(filled_, 0);
  count_ += count;
  take_(std::span(ids_).first(count));
}

void IdInput::show_progress() {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_progress_) return;
  next_progress_ = now + between_progress;
  messages_.progress(fmt::format("{} IDs", grouped(count_)));
}

}  // namespace leafctl
