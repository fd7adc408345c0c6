#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "config/keys.hpp"
#include "config/values.hpp"
#include "leaf/detail/nearest.hpp"
#include "leaf/detail/shell_word.hpp"
#include "leaf/detail/yaml.hpp"
#include "leaf/error.hpp"
#include "leaf/host_defaults.hpp"
#include "leaf/store.hpp"
#include "leaf/version.hpp"
#include "store/module.hpp"
#include "text/hint.hpp"
#include "yaml/module.hpp"

namespace leaf {

namespace {

using detail::YamlNode;
using detail::YamlText;

constexpr std::size_t greatest_size = 1 << 20;

struct Content {
  std::string text;
  mode_t mode = 0;
};

[[noreturn]] void fail_to_read(const std::string& path, int error) {
  const bool is_shortage = error == EMFILE || error == ENFILE || error == ENOMEM;
  throw Error(is_shortage ? ErrorCode::failed : ErrorCode::usage,
              fmt::format("cannot read configuration file '{}': {}", path, std::strerror(error)));
}

/// A pipe of the shell's, as in '--config <(command)', has no name in a file system.
bool is_named_pipe(int descriptor, const struct stat& status) {
  struct statfs system {};
  return S_ISFIFO(status.st_mode) &&
         (fstatfs(descriptor, &system) != 0 || static_cast<unsigned long>(system.f_type) != PIPEFS_MAGIC);
}

/// The content with the mode of the very file it was read from; none if there is no such file.
std::optional<Content> read_content(const std::string& path) {
  // Without O_NONBLOCK a named pipe is waited for until somebody writes into it.
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    fail_to_read(path, errno);
  }
  Content content;
  struct stat status {};
  char block[4096];
  ssize_t count = fstat(descriptor, &status) == 0 && fcntl(descriptor, F_SETFL, 0) == 0 ? 1 : -1;
  if (count > 0 && is_named_pipe(descriptor, status)) {
    close(descriptor);
    throw Error(ErrorCode::usage, fmt::format("configuration file '{}' is a named pipe", path),
                "name a file"_hint);
  }
  while (count > 0 && content.text.size() <= greatest_size) {
    count = read(descriptor, block, sizeof block);
    if (count > 0) content.text.append(block, static_cast<std::size_t>(count));
  }
  const int error = errno;
  close(descriptor);
  if (count < 0) fail_to_read(path, error);
  if (content.text.size() > greatest_size) {
    throw Error(ErrorCode::usage, fmt::format("configuration file '{}' is larger than 1 MiB", path));
  }
  content.mode = status.st_mode;
  return content;
}

/// The parser of the program, or of the module.
YamlText parse_text(const Environment& environment, const std::string& text) {
  if (environment.parse_yaml != nullptr) return environment.parse_yaml(text);
  const auto module = store::load_module("yaml", "what reads configuration files");
  const auto* const yaml =
      module ? static_cast<const yaml::Module*>(module->symbol("leaf_yaml_module")) : nullptr;
  if (yaml == nullptr || std::string_view(yaml->built_with) != LEAF_VERSION) {
    throw Error(
        module ? ErrorCode::unavailable : ErrorCode::usage,
        fmt::format("'libleaf-yaml.so' of version {}, which reads configuration files, is not installed",
                    LEAF_VERSION),
        "if packages are being upgraded, try again; if that happened while this program was running, restart "
        "it; otherwise install libleaf again"_hint);
  }
  return yaml->parse(text);
}

std::string place(const std::string& path, int line) {
  return line == 0 ? path : fmt::format("{}:{}", path, line);
}

/// The system would take it for the end: a path would be cut off there.
void refuse_zero_bytes(const std::string& path, const YamlNode& node) {
  if (node.text.find('\0') != std::string::npos) {
    throw Error(ErrorCode::usage, fmt::format("{}: a text holds a zero byte", place(path, node.line)),
                "leave its '\\0' out"_hint);
  }
  for (const YamlNode& part : node.parts) refuse_zero_bytes(path, part);
}

YamlNode parse(const std::string& path, const std::string& text, const Environment& environment) {
  YamlText yaml = parse_text(environment, text);
  if (!yaml.fault.empty())
    throw Error(ErrorCode::usage, fmt::format("{}: not valid YAML: {}", place(path, yaml.line), yaml.fault));
  if (yaml.documents.size() > 1) {
    throw Error(ErrorCode::usage, fmt::format("{}: a second document", place(path, yaml.documents[1].line)),
                "leave the line '---' above it out"_hint);
  }
  if (yaml.documents.empty()) return {};
  refuse_zero_bytes(path, yaml.documents[0]);
  return std::move(yaml.documents[0]);
}

const config::Key& known_key(const std::string& where, const std::string& key) {
  std::vector<std::string> names{std::string(config::stores_key)};
  for (const config::Key& known : config::keys) {
    if (key == known.name) return known;
    names.emplace_back(known.name);
  }
  const std::string near = detail::nearest(key, names);
  throw Error(ErrorCode::usage, fmt::format("{}: unknown key '{}'", where, key),
              near.empty() ? fmt::format("the keys are {}"_hint, fmt::join(names, ", "))
                           : fmt::format("did you mean '{}'?"_hint, near));
}

/// The value of `key`, which is at `where`.
ConfigEntry entry_of(const std::string& path, const std::string& where, const config::Key& key,
                     const YamlNode& value) {
  if (value.is_scalar()) return {value.text, where};
  if (!key.takes_mapping) {
    throw Error(ErrorCode::usage, fmt::format("{}: '{}' takes one value", where, key.name),
                fmt::format("write '{}: VALUE' on one line"_hint, key.name));
  }
  const std::string hint =
      fmt::format("write '{}: VALUE' or '{}: {{NAME: VALUE, NAME: VALUE}}'"_hint, key.name, key.name);
  ConfigEntry entry{{}, where};
  const std::size_t size = value.is_mapping() ? value.parts.size() / 2 : 0;
  for (std::size_t i = 0; i < size; ++i) {
    const YamlNode& name = value.parts[2 * i];
    const YamlNode& part = value.parts[2 * i + 1];
    const bool is_named = name.is_scalar() && part.is_scalar();
    if (!is_named || name.text.find_first_of("=,") != std::string::npos) break;
    entry.parts.push_back({fmt::format("{}={}", name.text, part.text), place(path, name.line)});
    entry.text += (entry.text.empty() ? "" : ",") + entry.parts.back().text;
  }
  if (entry.parts.empty() || entry.parts.size() != size) {
    throw Error(ErrorCode::usage,
                fmt::format("{}: '{}' takes one value, or one for each name", where, key.name), hint);
  }
  return entry;
}

/// Whoever may write the file decides where IDs come from.
void refuse_writable_by_all(const std::string& path, mode_t mode) {
  if (!S_ISREG(mode) || (mode & S_IWOTH) == 0) return;
  throw Error(ErrorCode::usage, fmt::format("configuration file '{}' can be changed by every user", path),
              fmt::format("see whether it still says what it should, then run 'chmod o-w {}'"_hint,
                          detail::shell_word(path)));
}

void refuse_open_secret(const std::string& path, const std::string& store, mode_t mode) {
  if ((mode & (S_IRWXG | S_IRWXO)) == 0 || redact_url(store) == store) return;
  throw Error(ErrorCode::usage,
              fmt::format("configuration file '{}' holds a password and is open to other users", path),
              fmt::format("run 'chmod 600 {}', or keep the password in a file that PGPASSFILE names"_hint,
                          detail::shell_word(path)));
}

/// The value of the key `stores`, which is at `where`.
std::map<std::string, ConfigEntry> stores_of(const std::string& path, const std::string& where,
                                             const YamlNode& value, mode_t mode) {
  std::map<std::string, ConfigEntry> stores;
  if (!value.is_mapping()) {
    throw Error(ErrorCode::usage, fmt::format("{}: 'stores' takes a URL for each name", where),
                "write 'stores: {NAME: URL, NAME: URL}'"_hint);
  }
  for (std::size_t i = 0; i < value.parts.size(); i += 2) {
    const std::string here = place(path, value.parts[i].line);
    const std::string& name = value.parts[i].text;
    const YamlNode& url = value.parts[i + 1];
    if (!config::is_store_name(name)) {
      throw Error(ErrorCode::usage, fmt::format("{}: '{}' is no name for a store", here, name),
                  "a store's name has 1 to 64 of the characters A-Z a-z 0-9 . _ -"_hint);
    }
    if (!url.is_scalar() || url.text.empty())
      throw Error(ErrorCode::usage, fmt::format("{}: store '{}' takes one URL", here, name));
    if (config::is_store_name(url.text)) {
      throw Error(ErrorCode::usage,
                  fmt::format("{}: store '{}' takes a URL, not a name such as '{}'", here, name, url.text));
    }
    if (!stores.emplace(name, ConfigEntry{url.text, here}).second)
      throw Error(ErrorCode::usage, fmt::format("{}: store '{}' is given twice", here, name));
    refuse_open_secret(path, url.text, mode);
  }
  return stores;
}

}  // namespace

std::optional<ConfigFile> ConfigFile::read_if_exists(const std::string& path,
                                                     const Environment& environment) {
  const auto content = read_content(path);
  if (!content) return std::nullopt;
  refuse_writable_by_all(path, content->mode);
  ConfigFile file;
  const YamlNode root = parse(path, content->text, environment);
  if (root.is_null()) return file;
  if (!root.is_mapping()) {
    throw Error(ErrorCode::usage,
                fmt::format("{}: expected lines such as 'timeout: 5s'", place(path, root.line)));
  }
  for (std::size_t i = 0; i < root.parts.size(); i += 2) {
    const YamlNode& name = root.parts[i];
    const YamlNode& value = root.parts[i + 1];
    const std::string where = place(path, name.line);
    if (!name.is_scalar()) throw Error(ErrorCode::usage, fmt::format("{}: a key has to be a word", where));
    if (name.text == config::stores_key && file.stores.empty()) {
      file.stores = stores_of(path, where, value, content->mode);
      continue;
    }
    const config::Key& key = known_key(where, name.text);
    if (!file.entries.emplace(name.text, entry_of(path, where, key, value)).second) {
      throw Error(ErrorCode::usage, fmt::format("{}: '{}' is given twice", where, name.text));
    }
  }
  if (const ConfigEntry* store = file.find("store")) refuse_open_secret(path, store->text, content->mode);
  for (const auto& [key, entry] : file.entries) {
    try {
      config::check_value(key, key, entry.text);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("{}: {}", entry.place, error.what()), error.hint());
    }
  }
  return file;
}

const ConfigEntry* ConfigFile::find(std::string_view key) const {
  const auto found = entries.find(key);
  return found == entries.end() ? nullptr : &found->second;
}

}  // namespace leaf
