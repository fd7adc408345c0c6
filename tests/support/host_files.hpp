#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>

#include "leaf/host_defaults.hpp"
#include "support/temporary_folder.hpp"

namespace leaf::test {

/// A host with configuration files and variables of its own, and a user whose home is in a temporary folder.
class HostFiles {
 public:
  HostFiles() { variables["HOME"] = path("home"); }

  /// Writes a file below the host's folder and returns its path.
  std::string write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path(name);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return file.string();
  }
  std::string write_user_file(const std::string& text) const {
    return write("home/.config/leafctl/leafctl.yaml", text);
  }
  std::string write_system_file(const std::string& text) const { return write("etc/leafctl.yaml", text); }

  Environment environment() const {
    Environment result;
    result.variable = [this](const char* name) -> std::optional<std::string> {
      const auto found = variables.find(name);
      return found == variables.end() ? std::nullopt : std::optional(found->second);
    };
    result.system_file = path("etc/leafctl.yaml");
    return result;
  }

  std::map<std::string, std::string> variables;

 protected:
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

 private:
  TemporaryFolder folder_;
};

}  // namespace leaf::test
