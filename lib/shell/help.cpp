#include "shell/help.hpp"

namespace leaf::shell {

const char usage[] =
    "leaf next [-v VAR] [-n N] {TAG | --snowflake} or leaf decode [-v VAR] ID or leaf COMMAND [ARG ...]";

const char* const help_lines[] = {
    "Draw unique 64-bit IDs, without a process.",
    "",
    "Takes the commands of leafctl(1), and goes by the same store, settings and",
    "environment. IDs that this host has buffered are drawn by the shell itself;",
    "for all else, such as a tag's next segment, leafctl is run.",
    "",
    "    leaf next TAG           the next ID of a tag",
    "    leaf next --snowflake   a snowflake ID",
    "    leaf decode ID          what a snowflake ID holds",
    "",
    "Options of 'next' and 'decode', where that is the first word:",
    "  -v VAR    assign to VAR rather than print: of 'next' the ID, or with -n an",
    "            array of IDs; of 'decode' an associative array with the keys id,",
    "            layout, time, unix_ms, worker, sequence (those of the layout);",
    "            'decode -v' takes one ID and no other options",
    "  -n N      draw N IDs",
    "",
    "Other options are those of leafctl-next(1) and leafctl-decode(1), where the",
    "short -v is --verbose.",
    "",
    "Exit Status:",
    "That of leafctl: 0 done, 1 failed, 2 usage, 3 store out of reach, 4 no such",
    "tag, 5 refused, 6 exhausted. 1 also if VAR is read-only.",
    nullptr};

}  // namespace leaf::shell
