#include "terminal/remedy_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "leaf/detail/shell_word.hpp"

namespace leafctl {

namespace {

using leaf::Remedy;
using leaf::detail::shell_word;

/// A command on a tag: a name that begins with a dash would be taken for an option.
std::string command_on(const std::string& tag, std::string_view command, std::string_view options = {}) {
  const bool is_like_option = tag.starts_with('-');
  std::string text = fmt::format(" with 'leafctl {}", command);
  if (!is_like_option) text += " " + (tag.empty() ? "TAG" : tag);
  if (!options.empty()) text += fmt::format(" {}", options);
  if (is_like_option) text += " -- " + tag;
  return text + "'";
}

std::string number_or(const char* stands_for, const Remedy& remedy) {
  return remedy.number ? std::to_string(*remedy.number) : stands_for;
}

/// How a user of this program takes that step; the words follow what the hint says of it.
std::string words_for(const Remedy& remedy) {
  using Kind = Remedy::Kind;
  switch (remedy.kind) {
    case Kind::allow_more_time:
      return " with --timeout";
    case Kind::allow_more_skew:
      return " with --max-skew";
    case Kind::choose_store:
      return " with --store " + remedy.name;
    case Kind::create_store:
    case Kind::upgrade_store:
      return " with 'leafctl init-db'";
    case Kind::adopt_objects:
      return " with 'leafctl init-db --adopt'";
    case Kind::look_at_objects:
      return " with --dry-run";
    case Kind::grant_role:
      return " with 'leafctl init-db --runtime-role ROLE'";
    case Kind::check_store:
      return " with 'leafctl doctor'";
    case Kind::check_settings:
      return "; 'leafctl show-config' shows where both come from";
    case Kind::add_tag:
      if (!remedy.number && !remedy.name.empty()) return command_on(remedy.name, "add-tag");
      return command_on(remedy.name, "add-tag", "--start " + number_or("ID", remedy));
    case Kind::change_step:
      return command_on(remedy.name, "tags update", "--step " + number_or("N", remedy));
    case Kind::change_limit:
      return command_on(remedy.name, "tags update", "--limit " + number_or("ID", remedy));
    case Kind::change_description:
      return command_on(remedy.name, "tags update", "--description TEXT");
    case Kind::raise_tag:
      return command_on(remedy.name, "tags update", "--raise-to " + number_or("ID", remedy));
    case Kind::look_at_tag:
      return command_on(remedy.name, "tags show");
    case Kind::list_workers:
      return " with 'leafctl workers list'";
    case Kind::recycle_worker:
      return fmt::format(" with 'leafctl workers recycle {}'", number_or("WORKER", remedy));
    case Kind::force_recycling:
      return " with --force";
    case Kind::release_workers:
      return fmt::format(" with 'leafctl workers release --worker-name {}'", shell_word(remedy.name));
    case Kind::choose_worker:
      return remedy.number ? fmt::format(" with '--worker-id {}'", *remedy.number) : " with --worker-id";
    case Kind::choose_owner:
      return " with --worker-name";
    case Kind::choose_worker_range:
      return " with 'leafctl init-db --workers'";
    case Kind::set_layout:
      return fmt::format(" with 'leafctl init-db --layout {}'", remedy.name.empty() ? "LAYOUT" : remedy.name);
    case Kind::settle_failover:
      return " with 'leafctl failover settle --no-commits-lost'";
    case Kind::look_at_failover:
      return " with 'leafctl failover show'";
    case Kind::choose_host_folder:
      return " with --runtime-dir";
    case Kind::do_without_host:
      return " with --no-host-buffer";
    case Kind::share_host:
      return " with --group";
  }
  return {};  // of a program of a later version, which shares this host's files
}

}  // namespace

std::string hint_text(const std::string& hint, const std::vector<Remedy>& remedies) {
  std::string text;
  std::size_t done = 0;
  for (const Remedy& remedy : remedies) {
    const std::size_t at = std::clamp(remedy.at, done, hint.size());
    text += hint.substr(done, at - done) + words_for(remedy);
    done = at;
  }
  return text + hint.substr(done);
}

std::string hint_text(const leaf::Error& error) {
  return hint_text(error.hint(), error.remedies());
}

}  // namespace leafctl
