#include "settings/config_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "leaf/detail/shell_word.hpp"
#include "leaf/error.hpp"
#include "leaf/store.hpp"
#include "settings/settings.hpp"
#include "text/hint.hpp"
#include "text/nearest.hpp"

namespace leafctl {

namespace {

using leaf::Error;
using leaf::ErrorCode;

constexpr std::size_t greatest_size = 1 << 20;
constexpr const char* stores_key = "stores";

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

std::string place(const std::string& path, const YAML::Mark& mark) {
  return mark.is_null() ? path : fmt::format("{}:{}", path, mark.line + 1);
}

YAML::Node parse(const std::string& path, const std::string& text) {
  try {
    const std::vector<YAML::Node> documents = YAML::LoadAll(text);
    if (documents.size() > 1) {
      throw Error(ErrorCode::usage, fmt::format("{}: a second document", place(path, documents[1].Mark())),
                  "leave the line '---' above it out"_hint);
    }
    return documents.empty() ? YAML::Node() : documents[0];
  } catch (const YAML::Exception& error) {
    throw Error(ErrorCode::usage, fmt::format("{}: not valid YAML: {}", place(path, error.mark), error.msg));
  }
}

const Setting& known_setting(const std::string& where, const std::string& key) {
  std::vector<std::string> keys{stores_key};
  for (const Setting& setting : all_settings()) {
    if (key == setting.key) return setting;
    keys.emplace_back(setting.key);
  }
  const std::string near = nearest(key, keys);
  throw Error(ErrorCode::usage, fmt::format("{}: unknown key '{}'", where, key),
              near.empty() ? fmt::format("the keys are {}"_hint, fmt::join(keys, ", "))
                           : fmt::format("did you mean '{}'?"_hint, near));
}

/// The value of `setting`, whose key is at `where`.
ConfigEntry entry_of(const std::string& path, const std::string& where, const Setting& setting,
                     const YAML::Node& value) {
  if (value.IsScalar()) return {value.Scalar(), where};
  if (!setting.takes_mapping) {
    throw Error(ErrorCode::usage, fmt::format("{}: '{}' takes one value", where, setting.key),
                fmt::format("write '{}: VALUE' on one line"_hint, setting.key));
  }
  const std::string hint =
      fmt::format("write '{}: VALUE' or '{}: {{NAME: VALUE, NAME: VALUE}}'"_hint, setting.key, setting.key);
  ConfigEntry entry{{}, where};
  for (const auto& pair : value) {
    const bool is_named = value.IsMap() && pair.first.IsScalar() && pair.second.IsScalar();
    if (!is_named || pair.first.Scalar().find_first_of("=,") != std::string::npos) break;
    entry.parts.push_back(
        {fmt::format("{}={}", pair.first.Scalar(), pair.second.Scalar()), place(path, pair.first.Mark())});
    entry.text += (entry.text.empty() ? "" : ",") + entry.parts.back().text;
  }
  if (entry.parts.empty() || entry.parts.size() != value.size()) {
    throw Error(ErrorCode::usage,
                fmt::format("{}: '{}' takes one value, or one for each name", where, setting.key), hint);
  }
  return entry;
}

/// Whoever may write the file decides where IDs come from.
void refuse_writable_by_all(const std::string& path, mode_t mode) {
  if (!S_ISREG(mode) || (mode & S_IWOTH) == 0) return;
  throw Error(ErrorCode::usage, fmt::format("configuration file '{}' can be changed by every user", path),
              fmt::format("see whether it still says what it should, then run 'chmod o-w {}'"_hint,
                          leaf::detail::shell_word(path)));
}

void refuse_open_secret(const std::string& path, const std::string& store, mode_t mode) {
  if ((mode & (S_IRWXG | S_IRWXO)) == 0 || leaf::redact_url(store) == store) return;
  throw Error(ErrorCode::usage,
              fmt::format("configuration file '{}' holds a password and is open to other users", path),
              fmt::format("run 'chmod 600 {}', or keep the password in a file that PGPASSFILE names"_hint,
                          leaf::detail::shell_word(path)));
}

/// The value of the key `stores`, which is at `where`.
std::map<std::string, ConfigEntry> stores_of(const std::string& path, const std::string& where,
                                             const YAML::Node& value, mode_t mode) {
  std::map<std::string, ConfigEntry> stores;
  if (!value.IsMap()) {
    throw Error(ErrorCode::usage, fmt::format("{}: 'stores' takes a URL for each name", where),
                "write 'stores: {NAME: URL, NAME: URL}'"_hint);
  }
  for (const auto& pair : value) {
    const std::string here = place(path, pair.first.Mark());
    const std::string name = pair.first.IsScalar() ? pair.first.Scalar() : "";
    if (!is_store_name(name)) {
      throw Error(ErrorCode::usage,
                  fmt::format("{}: a store's name has 1 to 64 of the characters A-Z a-z 0-9 . _ -", here));
    }
    if (!pair.second.IsScalar() || pair.second.Scalar().empty())
      throw Error(ErrorCode::usage, fmt::format("{}: store '{}' takes one URL", here, name));
    if (is_store_name(pair.second.Scalar())) {
      throw Error(ErrorCode::usage, fmt::format("{}: store '{}' takes a URL, not a name such as '{}'", here,
                                                name, pair.second.Scalar()));
    }
    if (!stores.emplace(name, ConfigEntry{pair.second.Scalar(), here}).second)
      throw Error(ErrorCode::usage, fmt::format("{}: store '{}' is given twice", here, name));
    refuse_open_secret(path, pair.second.Scalar(), mode);
  }
  return stores;
}

}  // namespace

std::optional<ConfigFile> ConfigFile::read_if_exists(const std::string& path) {
  const auto content = read_content(path);
  if (!content) return std::nullopt;
  refuse_writable_by_all(path, content->mode);
  ConfigFile file;
  const YAML::Node root = parse(path, content->text);
  if (root.IsNull()) return file;
  if (!root.IsMap()) {
    throw Error(ErrorCode::usage,
                fmt::format("{}: expected lines such as 'timeout: 5s'", place(path, root.Mark())));
  }
  for (const auto& pair : root) {
    const std::string where = place(path, pair.first.Mark());
    if (!pair.first.IsScalar())
      throw Error(ErrorCode::usage, fmt::format("{}: a key has to be a word", where));
    const std::string& key = pair.first.Scalar();
    if (key == stores_key && file.stores_.empty()) {
      file.stores_ = stores_of(path, where, pair.second, content->mode);
      continue;
    }
    const Setting& setting = known_setting(where, key);
    if (!file.entries_.emplace(key, entry_of(path, where, setting, pair.second)).second) {
      throw Error(ErrorCode::usage, fmt::format("{}: '{}' is given twice", where, key));
    }
  }
  if (const ConfigEntry* store = file.find("store")) refuse_open_secret(path, store->text, content->mode);
  return file;
}

const ConfigEntry* ConfigFile::find(const std::string& key) const {
  const auto found = entries_.find(key);
  return found == entries_.end() ? nullptr : &found->second;
}

}  // namespace leafctl
