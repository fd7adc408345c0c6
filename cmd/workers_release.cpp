#include <fmt/format.h>

#include "buffered_ids.hpp"
#include "commands.hpp"
#include "declaration.hpp"
#include "freed_workers.hpp"

namespace leafctl {

namespace {

class WorkersRelease : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Frees a worker that this host holds, for others, or all that it holds. A program that still uses "
        "one "
        "goes on to the end of its window and takes another worker then; no ID repeats.");
    command.add_worker_argument(worker_, "the worker, which has to be this host's (default: all of them)");
    command.add_examples(
        "Whoever takes the worker gets only time after its window_end. What a host holds\n"
        "goes by its worker name, which --worker-name gives.\n\n"
        "After a clock that was ahead was set right, this host takes another worker. Its\n"
        "IDs begin by the clock then, lower than those it made with the wrong time.\n\n"
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
    const auto released = session.store().release_workers(owner, worker_);
    drop_windows_ahead(owner, worker_, session);
    report_freed("released", released, session);
    if (released.empty()) session.messages.info(fmt::format("'{}' holds no worker", owner));
  }

 private:
  std::optional<std::int64_t> worker_;
};

}  // namespace

std::unique_ptr<Command> make_workers_release() {
  return std::make_unique<WorkersRelease>();
}

}  // namespace leafctl
