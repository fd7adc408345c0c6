// Calls a fuzzer's target with each file that is named, and each one in a folder that is: what was found once
// stays found, with any compiler.
#include <csignal>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/fuzz.hpp"

namespace fs = std::filesystem;

namespace {

std::string file_in_hand;

/// Says which file it was; the target has said the rest.
void name_file(int signal) {
  std::fprintf(stderr, "by the input %s\n", file_in_hand.c_str());
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

std::vector<fs::path> files_of(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE}) std::signal(signal, name_file);
  std::size_t count = 0;
  for (int i = 1; i < argc; ++i) {
    for (const fs::path& file : files_of(argv[i])) {
      file_in_hand = file.string();
      std::ifstream in(file, std::ios::binary);
      const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
      LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
      ++count;
    }
  }
  std::printf("figure: fuzz/replay %zu kept inputs\n", count);
  return count == 0 ? 1 : 0;
}
