// Any text for a configuration file: each value is one of a known key, with its line; and it can be written
// back.
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>

#include "config/keys.hpp"
#include "fuzz/fuzz.hpp"
#include "leaf/detail/yaml.hpp"
#include "leaf/error.hpp"
#include "leaf/host_defaults.hpp"

namespace {

using leaf::ConfigFile;
using leaf::fuzz::require;

/// A file in memory, of mode 0600.
class File {
 public:
  explicit File(std::string_view text) : descriptor_(memfd_create("config", MFD_CLOEXEC)) {
    require(descriptor_ >= 0 && fchmod(descriptor_, 0600) == 0 &&
                write(descriptor_, text.data(), text.size()) == static_cast<ssize_t>(text.size()),
            "the system makes files");
  }
  ~File() { close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

std::optional<ConfigFile> read(const std::string& text, std::string& fault) {
  const File file(text);
  const std::string path = file.path();
  leaf::Environment environment;
  environment.variable = [](const char*) { return std::nullopt; };
  environment.parse_yaml = leaf::detail::parse_yaml;
  try {
    auto config = ConfigFile::read_if_exists(path, environment);
    require(config.has_value(), "a file that is there is read", text);
    for (const auto& [key, entry] : config->entries)
      require(entry.place.starts_with(path + ":"), "a value has a line", text);
    return config;
  } catch (const leaf::Error& error) {
    fault = error.what();
    require(error.code() == leaf::ErrorCode::usage && fault.find(path) != std::string::npos,
            "what is wrong is a mistake of the user's, with its file", text);
    // A file larger than a megabyte has none, nor one that is not YAML in a way that has no place.
    const bool has_line = fault.starts_with(path + ":");
    require(has_line, "what is wrong has a line", text);
    return std::nullopt;
  }
}

std::string quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    static constexpr char digits[] = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || c == '"' || c == '\\' || byte == 0x7F) {
      quoted += std::string("\\x") + digits[byte >> 4] + digits[byte & 15];
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

/// The same in another form.
std::string written(const ConfigFile& config) {
  std::string text = "# written\n";
  for (const auto& [key, entry] : config.entries) {
    text += key + ":";
    if (entry.parts.empty()) text += " " + quoted(entry.text);
    for (const leaf::ConfigEntry& part : entry.parts) {
      const auto equals = part.text.find('=');
      text += "\n  " + quoted(part.text.substr(0, equals)) + ": " + quoted(part.text.substr(equals + 1));
    }
    text += "\n";
  }
  if (!config.stores.empty()) text += "stores:\n";
  for (const auto& [name, entry] : config.stores)
    text += "  " + quoted(name) + ": " + quoted(entry.text) + "\n";
  return text;
}

bool are_same(const std::map<std::string, leaf::ConfigEntry, std::less<>>& a,
              const std::map<std::string, leaf::ConfigEntry, std::less<>>& b) {
  return std::ranges::equal(a, b, [](const auto& left, const auto& right) {
    return left.first == right.first && left.second.text == right.second.text &&
           left.second.parts.size() == right.second.parts.size();
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::string fault;
  const auto config = read(text, fault);
  if (!config) return 0;
  for (const auto& [key, entry] : config->entries) {
    require(
        std::ranges::find(leaf::config::keys, key, &leaf::config::Key::name) != std::end(leaf::config::keys),
        "a key is a known one", text);
  }
  const std::string again = written(*config);
  const auto same = read(again, fault);
  require(same && are_same(same->entries, config->entries), "what is written back is the same",
          again + fault);
  require(same->stores.size() == config->stores.size() &&
              std::ranges::equal(same->stores, config->stores,
                                 [](const auto& a, const auto& b) {
                                   return a.first == b.first && a.second.text == b.second.text;
                                 }),
          "named stores are the same", again);
  return 0;
}
