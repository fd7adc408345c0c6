// Any template for IDs: what it writes is read back as the same ID, and no other text is.
#include <optional>
#include <string>

#include "fuzz/fuzz.hpp"
#include "leaf/error.hpp"
#include "leaf/id_form.hpp"

namespace {

using leaf::IdTemplate;
using leaf::fuzz::Choices;
using leaf::fuzz::require;

std::string write(IdTemplate& form, std::int64_t id, leaf::UnixTime time) {
  std::string text = "before";
  form.append(id, time, text);
  require(text.starts_with("before"), "a text is appended", form.text());
  return text.substr(6);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const leaf::Layout layouts[] = {leaf::Layout::parse("leaf"),
                                         leaf::Layout::parse("time:32,sequence:31/1s@0"),
                                         leaf::Layout::parse("sequence:22,time:41/1ms@0")};
  Choices choices(data, size);
  const leaf::Layout& layout = layouts[choices.below(3)];
  std::int64_t id = choices.number() & INT64_MAX;
  if (!layout.holds(id)) id = layout.last_id(layout.last_time());
  const std::string candidate = choices.text();
  const std::string text(choices.rest());
  std::optional<IdTemplate> form;
  try {
    form.emplace(text);
  } catch (const leaf::Error& error) {
    require(error.code() == leaf::ErrorCode::usage && !error.hint().empty(), "a refusal has a hint", text);
    return 0;
  }
  require(form->text() == text, "a template keeps its text", text);
  const std::string written = write(*form, id, layout.time_of(id));
  require(written.find('\n') == std::string::npos && written.find('\0') == std::string::npos,
          "an ID is a line", text);
  require(form->read(written, layout) == id, "what is written is read", written);
  IdTemplate other(text);
  require(write(other, id, layout.time_of(id)) == written, "the same is written each time", text);
  const std::int64_t before = id == 0 ? 1 : id - 1;
  if (layout.holds(before))
    require(write(*form, before, layout.time_of(before)) != written, "two IDs have two texts", text);
  for (const std::string& read :
       {candidate, written + candidate, candidate + written, written.substr(0, candidate.size())}) {
    const auto found = form->read(read, layout);
    if (!found) {
      require(*leaf::id_error(read, layout, *form).what() != '\0', "a refusal has a text", read);
      continue;
    }
    const std::string again = write(*form, *found, layout.time_of(*found));
    require(again.size() == read.size() && form->read(again, layout) == found,
            "what is read is what would be written", read);
  }
  return 0;
}
