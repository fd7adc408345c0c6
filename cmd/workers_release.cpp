#include <fmt/format.h>

#include "cli/declaration.hpp"
#include "commands.hpp"
#include "leaf/detail/nearest.hpp"
#include "tags/buffered_ids.hpp"
#include "workers/freed_workers.hpp"

namespace leafctl {

namespace {

class WorkersRelease : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Frees a worker that this host holds, or all of them, for others. A program that still uses one goes "
        "on to the end of its window and then takes another; no ID repeats.");
    command.add_worker_argument(worker_, "the worker, one of this host's (default: all of them)");
    command.add_examples(
        "Whoever takes the worker gets only time after its window_end. A host's workers\n"
        "are those of its worker name, see --worker-name.\n\n"
        "Once a clock that was ahead is set right, this host takes another worker. Its\n"
        "IDs then follow the clock, and are lower than those made with the wrong time.\n\n"
        "Examples:\n"
        "  leafctl workers release\n"
        "  leafctl workers release 3 --worker-name billing-1");
  }

  std::vector<std::string_view> setting_keys() const override {
    std::vector<std::string_view> keys{"worker_name"};
    keys.insert(keys.end(), host_setting_keys.begin(), host_setting_keys.end());
    return keys;
  }

  void run(Session& session) override {
    const std::string& owner = session.settings().worker_name;
    leaf::Store store = session.store();
    const auto released = store.release_workers(owner, worker_);
    drop_windows_ahead(store, owner, worker_, session);
    report_freed("released", released, session);
    if (released.empty()) {
      const std::string meant = meant_owner(owner, session);
      session.messages.info(fmt::format("'{}' holds no worker{}", owner,
                                        meant.empty() ? "" : fmt::format(": did you mean '{}'?", meant)));
    }
  }

 private:
  /// The owner of a worker whose name is near; empty if there is none, or nobody is to read it.
  static std::string meant_owner(const std::string& owner, const Session& session) {
    if (session.messages.is_quiet() || session.output.format() == OutputFormat::json) return {};
    std::vector<std::string> owners;
    for (const leaf::Worker& worker : session.store().workers()) {
      if (!worker.owner.empty()) owners.push_back(worker.owner);
    }
    return leaf::detail::nearest(owner, owners);
  }

  std::optional<std::int64_t> worker_;
};

}  // namespace

std::unique_ptr<Command> make_workers_release() {
  return std::make_unique<WorkersRelease>();
}

}  // namespace leafctl
