#pragma once

#include <cstdint>
#include <string>

#include "doctor/check.hpp"
#include "leaf/health.hpp"

namespace leafctl {

/// Names who keeps others from their IDs, and what ends that.
Checks lock_checks(const leaf::StoreHealth& health);

/// What frees a SQLite file that `process` has locked; 0: one of another host or container.
std::string how_to_free_file(std::int64_t process);

}  // namespace leafctl
