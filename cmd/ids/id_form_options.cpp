#include "ids/id_form_options.hpp"

#include <fmt/format.h>

#include "cli/declaration.hpp"
#include "leaf/error.hpp"
#include "text/hint.hpp"

namespace leafctl {

void IdFormOptions::declare(Declaration& command, Use use) {
  const bool is_read = use == Use::read;
  command.add_text_option(
      "--format", "dec|hex|base32|base62", format_,
      is_read ? "read each ID in dec, hex, base32 (Crockford's) or base62 (default: dec)"
              : "write each ID in dec, hex, base32 (Crockford's) or base62; all but dec are zero-padded, so "
                "that they sort like the IDs (default: dec)");
  command.add_text_option("--template", "TEXT", template_,
                          is_read ? "read each ID in the format of this template, as 'leafctl next' wrote it"
                                  : "format each ID with a template, such as 'ORD-{date:%Y%m%d}-{id:>012}'");
}

std::optional<leaf::IdTemplate> IdFormOptions::form() const {
  if (format_ && template_) {
    throw leaf::Error(leaf::ErrorCode::usage, "'--format' and '--template' exclude each other",
                      "a template names the base itself: {id:base62}"_hint);
  }
  if (template_) return leaf::IdTemplate(*template_);
  if (!format_ || *format_ == "dec") return std::nullopt;
  if (leaf::find_id_base(*format_) == nullptr) {
    throw leaf::Error(leaf::ErrorCode::usage,
                      fmt::format("'--format' takes dec, hex, base32 or base62, not '{}'", *format_));
  }
  return leaf::IdTemplate(fmt::format("{{id:{}}}", *format_));
}

}  // namespace leafctl
