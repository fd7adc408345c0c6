#pragma once

#include <cstdint>
#include <string>

namespace leaf::host {

/// Whether a file says what `conninfo` leads to, as far as can be told: what libpq alone can read may.
bool goes_through_service(const std::string& conninfo, const std::string& variables);

/// A number of where this process looks names up: another one where `conninfo`, a connection string of
/// PostgreSQL, may lead to another server than in other containers of this host. `variables` are libpq's, a
/// line NAME=value for each. An address means what the network namespace has there, a name what /etc/hosts
/// says, a socket what is mounted on it or its folder.
std::uint64_t name_scope(const std::string& conninfo, const std::string& variables);

/// A number of the folder that is mounted where `path`, an absolute one, lies or would lie: containers that
/// have different folders there mean different files by it.
std::uint64_t mount_scope(const std::string& path);

}  // namespace leaf::host
