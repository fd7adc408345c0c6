#pragma once

namespace leaf::shell {

/// What `help leaf` or `leaf --help` say; ends with a null pointer.
extern const char* const help_lines[];
extern const char usage[];

}  // namespace leaf::shell
