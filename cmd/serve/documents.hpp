#pragma once

#include <string_view>

namespace leafctl::serve {

/// The page of page.html.
std::string_view page_document() noexcept;
/// What this server offers, as of openapi.json.
std::string_view openapi_document() noexcept;

}  // namespace leafctl::serve
