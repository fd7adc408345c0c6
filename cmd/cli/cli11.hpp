#pragma once

// CLI11's header makes some twenty objects at each start of the program for each file that includes it, which
// took a good part of a short call. So few files do, and the others go by these names.

namespace CLI {  // NOLINT(readability-identifier-naming): as the header has it
class App;
class Option;
}  // namespace CLI
