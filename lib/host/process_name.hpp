#pragma once

#include <cstdint>

namespace leaf::host {

/// What tells process `number` of this one's PID namespace from one of another; 0 if the namespace is not
/// known. Containers may share a folder, and each has its own process 2.
std::uint64_t process_seal(std::int64_t number);

}  // namespace leaf::host
