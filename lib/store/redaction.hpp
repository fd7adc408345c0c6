#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace leaf::store {

/// The URL of a store with `***` for what is or could be a part of a secret, and all else as it is written.
/// Of a text that libpq refuses, what has no known meaning is hidden too.
std::string redact(std::string_view url);

/// What libpq says of a connection that did not come about. libpq quotes what it does not understand of a
/// connection string, which may be a piece of a password; then the message says what is wrong without
/// quoting. `is_refused` tells that libpq's parser refused the string, so that no server was asked.
std::string redact_message(std::string message, std::string_view connection_string, bool is_refused);

/// Whether a URI has an '@' behind its user and password, in a host or database. libpq takes it for a part of
/// that name; more likely it ends a password that has an '@' or '/' in it.
bool has_stray_at(std::string_view uri);

/// Where the ':' of a text stands that begins with a URL's type, of whatever spelling; nothing if it does
/// not.
std::optional<std::size_t> end_of_type(std::string_view url);

/// The URL with the type that its own was most likely meant to be; empty if none is near.
std::string meant_url(std::string_view url);

/// Whether the value of a known parameter is a secret.
bool is_secret(std::string_view keyword);

}  // namespace leaf::store
