#include "leaf/id_form.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <ctime>

#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leaf {

namespace {

constexpr std::size_t greatest_width = 64;

[[noreturn]] void refuse(std::string_view what, std::string_view hint) {
  throw Error(ErrorCode::usage, std::string(what), std::string(hint));
}

/// How many characters strftime makes of `%conversion`; 0 if it may be any number or depend on the locale.
std::size_t width_of(char conversion) {
  switch (conversion) {
    case 'm':
    case 'd':
    case 'H':
    case 'M':
    case 'S':
    case 'y':
      return 2;
    case 'j':
      return 3;
    case 'Y':
      return 4;
    case 'T':
      return 8;
    case 'F':
      return 10;
    case '%':
      return 1;
    default:
      return 0;
  }
}

std::size_t date_width(std::string_view format) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      ++width;
      continue;
    }
    const std::size_t conversion = ++i < format.size() ? width_of(format[i]) : 0;
    if (conversion == 0) {
      refuse(fmt::format("'{{date:{}}}' has an unknown conversion", format),
             "it takes %Y %m %d %H %M %S %j %y %F %T and %%, as in {date:%Y%m%d}"_hint);
    }
    width += conversion;
  }
  return width;
}

std::string format_date(const std::string& format, std::chrono::sys_seconds time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  // A conversion of two characters gives ten at most.
  std::string text(format.size() * 5 + 1, '\0');
  text.resize(std::strftime(text.data(), text.size(), format.c_str(), &parts));
  return text;
}

template <class Pieces>
std::size_t total_width(const Pieces& pieces) {
  std::size_t width = 0;
  for (const auto& piece : pieces) width += piece.width;
  return width;
}

template <class Pieces>
std::string text_of(const Pieces& pieces, std::chrono::sys_seconds time) {
  std::string text;
  for (const auto& piece : pieces) text += piece.is_date ? format_date(piece.text, time) : piece.text;
  return text;
}

}  // namespace

IdTemplate::IdTemplate(std::string_view text) : text_(text) {
  if (std::ranges::any_of(text, [](char c) { return (c >= 0 && c < ' ') || c == '\x7F'; })) {
    refuse(fmt::format("template '{}' has a control character", text),
           "each ID is a line: leave newlines and tabs out"_hint);
  }
  parse();
  if (base_ == nullptr) {
    refuse(fmt::format("template '{}' has no {{id}}: every ID would look the same", text),
           "for example, 'ORD-{date:%Y%m%d}-{id:>012}'"_hint);
  }
}

void IdTemplate::parse() {
  const std::string_view text = text_;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      add_text(c);
    } else if (i + 1 < text.size() && text[i + 1] == c) {
      add_text(c);
      ++i;
    } else {
      const std::size_t end = text.find('}', i);
      if (c == '}' || end == std::string_view::npos) {
        refuse(fmt::format("template '{}' has a '{}' without its other half", text, c),
               "a brace itself is written twice: {{ or }}"_hint);
      }
      parse_field(text.substr(i + 1, end - i - 1));
      i = end;
    }
  }
}

void IdTemplate::parse_field(std::string_view field) {
  const std::size_t colon = std::min(field.find(':'), field.size());
  const std::string_view name = field.substr(0, colon);
  const std::string_view format = field.substr(std::min(colon + 1, field.size()));
  if (name == "id") {
    set_id(field, format);
  } else if (name == "date") {
    add_date(format.empty() ? "%Y%m%d" : format);
  } else {
    refuse(fmt::format("template '{}' has an unknown field '{{{}}}'", text_, field),
           "the fields are {id} and {date}; a brace itself is written twice: {{ or }}"_hint);
  }
}

void IdTemplate::set_id(std::string_view field, std::string_view format) {
  if (base_ != nullptr) {
    refuse(fmt::format("template '{}' has {{id}} twice", text_),
           "name it once, so that it can be read back"_hint);
  }
  if (format.starts_with('>')) format.remove_prefix(1);
  const bool has_zeros = format.starts_with('0');
  const char* const end = format.data() + format.size();
  std::size_t width = 0;
  const auto [rest, error] = std::from_chars(format.data(), end, width);
  const bool has_width = error == std::errc{};
  const std::string_view name(rest, static_cast<std::size_t>(end - rest));
  base_ = find_id_base(name.empty() ? "dec" : name);
  const bool is_wide = error == std::errc::result_out_of_range || width > greatest_width;
  if (base_ == nullptr || is_wide || (has_width && width == 0)) {
    refuse(fmt::format("unknown ID format '{{{}}}'", field),
           "such as {id}, {id:>012}, {id:base32} or {id:>08hex}; the width is 1 to 64"_hint);
  }
  min_width_ = has_width ? width : name.empty() || name == "dec" ? 0 : base_->width;
  padding_ = has_width && !has_zeros ? ' ' : '0';
}

void IdTemplate::add_date(std::string_view format) {
  pieces().push_back({std::string(format), date_width(format), true});
}

void IdTemplate::add_text(char c) {
  if (pieces().empty() || pieces().back().is_date) pieces().push_back({"", 0, false});
  pieces().back().text += c;
  ++pieces().back().width;
}

void IdTemplate::turn_to(UnixTime time) {
  const auto second = std::chrono::floor<std::chrono::seconds>(time);
  if (second_ == second) return;
  text_before_ = text_of(before_, second);
  text_after_ = text_of(after_, second);
  second_ = second;
}

void IdTemplate::append(std::int64_t id, UnixTime time, std::string& to) {
  turn_to(time);
  to += text_before_;
  base_->append(id, min_width_, padding_, to);
  to += text_after_;
}

std::optional<std::int64_t> IdTemplate::read(std::string_view written, const Layout& layout) {
  const std::size_t begin = total_width(before_);
  const std::size_t surrounds = begin + total_width(after_);
  if (written.size() <= surrounds || written.size() > surrounds + greatest_width) return std::nullopt;
  std::string canonical(written);
  const std::size_t size = written.size() - surrounds;
  for (std::size_t i = begin; i < begin + size; ++i) canonical[i] = base_->canonical(canonical[i]);
  std::string_view digits = std::string_view(canonical).substr(begin, size);
  digits.remove_prefix(std::min(digits.find_first_not_of(' '), digits.size()));
  const auto id = base_->parse(digits);
  if (!id || !layout.holds(*id)) return std::nullopt;
  // What reads like the ID, but is not what would be written of it, was cut or changed.
  std::string again;
  append(*id, layout.time_of(*id), again);
  return again == canonical ? id : std::nullopt;
}

}  // namespace leaf
