#include "host/process_name.hpp"

#include <sys/stat.h>

#include "host/hash.hpp"

namespace leaf::host {

std::uint64_t process_seal(std::int64_t number) {
  struct stat own {};
  if (stat("/proc/self/ns/pid", &own) != 0) return 0;
  return Hash()
      .add_number(own.st_dev)
      .add_number(own.st_ino)
      .add_number(static_cast<std::uint64_t>(number))
      .value();
}

}  // namespace leaf::host
