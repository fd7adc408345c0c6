#include <fmt/format.h>
#include <unistd.h>

#include <cmath>

#include "cli/declaration.hpp"
#include "commands.hpp"
#include "leaf/detail/counted.hpp"
#include "leaf/error.hpp"
#include "leaf/host.hpp"
#include "leaf/store.hpp"
#include "metrics/status_metrics.hpp"
#include "settings/user_folders.hpp"
#include "terminal/interrupt.hpp"
#include "terminal/interruptible_clock.hpp"
#include "terminal/remedy_text.hpp"
#include "text/hint.hpp"
#include "text/time_text.hpp"

namespace leafctl {

namespace {

/// A buffer, and when it was looked at.
struct Seen {
  leaf::HostBuffer buffer;
  leaf::UnixTime now;
  std::string user{};  ///< whose it is, where those of all are shown
};

Cell from_now(leaf::UnixTime time, const Seen& seen) {
  return TimeFromNow{time, seen.now};
}

Cell fetched(const Seen& seen) {
  return seen.buffer.in_use ? from_now(seen.buffer.fetched_at, seen) : Cell();
}

Cell state(const Seen& seen) {
  if (seen.buffer.damaged) return std::string("damaged");
  if (seen.buffer.is_former) return std::string("former");
  if (seen.buffer.failures > 0) return std::string("failing");
  return std::string(seen.buffer.in_use ? "ok" : "empty");
}

Cell failure(const Seen& seen) {
  return seen.buffer.failure.empty() ? Cell() : Remark{seen.buffer.failure};
}

Cell pace(const Seen& seen) {
  if (!seen.buffer.ids_per_second) return {};
  return Count{static_cast<std::int64_t>(std::llround(*seen.buffer.ids_per_second * 60))};
}

constexpr Column<Seen> tag_columns[] = {
    {"tag", [](const Seen& seen) -> Cell { return seen.buffer.name; }},
    {"left",
     [](const Seen& seen) -> Cell {
       return Count{static_cast<std::int64_t>(seen.buffer.current.size() + seen.buffer.next.size())};
     }},
    {"next_id",
     [](const Seen& seen) -> Cell {
       const leaf::HostBuffer& buffer = seen.buffer;
       if (!buffer.current.empty()) return Id{buffer.current.lo};
       return buffer.next.empty() ? Cell() : Id{buffer.next.lo};
     }},
    {"step",
     [](const Seen& seen) -> Cell { return seen.buffer.step == 0 ? Cell() : Count{seen.buffer.step}; }},
    {"per_minute", pace},
    {"fetched", fetched},
    {"state", state},
    {"failure", failure},
    {"store", [](const Seen& seen) -> Cell { return Remark{seen.buffer.store}; }},
};

constexpr Column<Seen> worker_columns[] = {
    {"worker",
     [](const Seen& seen) -> Cell { return seen.buffer.in_use ? Cell(seen.buffer.worker) : Cell(); }},
    {"owner", [](const Seen& seen) -> Cell { return seen.buffer.name; }},
    {"layout",
     [](const Seen& seen) -> Cell { return seen.buffer.in_use ? Cell(seen.buffer.layout) : Cell(); }},
    {"window_end",
     [](const Seen& seen) -> Cell {
       return seen.buffer.in_use ? from_now(seen.buffer.next_window_end, seen) : Cell();
     }},
    {"fetched", fetched},
    {"state", state},
    {"failure", failure},
    {"store", [](const Seen& seen) -> Cell { return Remark{seen.buffer.store}; }},
};

/// Prints `list`; where it is of all users, whose each buffer is comes first.
template <std::size_t n>
void print_buffers(Output& output, const Column<Seen> (&columns)[n], const std::vector<Seen>& list,
                   bool is_of_all) {
  if (!is_of_all) return output.print_list(columns, list);
  std::vector<const char*> keys{"user"};
  for (const Column<Seen>& column : columns) keys.push_back(column.key);
  std::vector<Row> rows;
  for (const Seen& seen : list) {
    Row& row = rows.emplace_back(Row{seen.user});
    for (const Column<Seen>& column : columns) row.push_back(column.cell(seen));
  }
  output.print_list(keys, rows);
}

constexpr Column<std::int64_t> forgotten_columns[] = {
    {"forgotten", [](const std::int64_t& count) -> Cell { return count; }},
};

class Status : public Command {
 public:
  void declare(Declaration& command) override {
    command.describe(
        "Prints what this host has buffered: for each tag how many IDs are left, the next one, the step in "
        "use, how many are used per minute and when they were fetched; for each worker when its windows end. "
        "The buffers "
        "of all stores are shown. Only --forget changes anything, and only --metrics asks the store.");
    command.add_flag("--watch", watch_, "print it again and again until interrupted");
    command.add_text_option("--interval", "DURATION", interval_text_, "how often, 10ms to 24h (default: 1s)");
    command.add_flag("--all-users", all_users_, "print what all users have buffered; only root may");
    command.add_flag("--metrics", metrics_, "print it and the store's state as metrics for Prometheus");
    command.add_flag(
        "--forget", forget_,
        "discard the buffers of STORE; without STORE, those that are failing, damaged or former");
    command.add_texts_argument("STORE", "URL", stores_, "with --forget: as for --store");
    command.add_examples(
        "In a pipe there is one tab-separated line for each buffer: tag, left, next_id,\n"
        "step, per_minute, fetched, state, failure and store; or worker, owner, layout,\n"
        "window_end, fetched, state, failure and store. With -o json the keys are the\n"
        "same. A buffer is empty before anything was fetched; failing if the last fetch\n"
        "failed, while what is left is still drawn; damaged if something else changed its\n"
        "file; former if its store was restored, or its name now points to another store:\n"
        "it is no longer used.\n\n"
        "With --metrics the configured store is asked for its tags, workers and clock.\n"
        "If it does not answer, leafctl_store_up is 0 and the rest is still printed.\n\n"
        "Examples:\n"
        "  leafctl status\n"
        "  leafctl status --metrics\n"
        "  leafctl status --watch\n"
        "  leafctl status --forget sqlite:/srv/old/leaf.db\n"
        "  leafctl status -o json | jq -r 'select(.state == \"failing\").failure'");
  }

  std::vector<std::string_view> setting_keys() const override {
    std::vector<std::string_view> keys{"worker_name", "recycle_after"};
    keys.insert(keys.end(), host_setting_keys.begin(), host_setting_keys.end());
    return keys;
  }

  void run(Session& session) override {
    if (!stores_.empty() && !forget_) {
      throw leaf::Error(leaf::ErrorCode::usage,
                        fmt::format("argument '{}' requires '--forget'", leaf::redact_url(stores_.front())));
    }
    if (metrics_) {
      require_no_other_work();
      print_metrics(session);
      return;
    }
    const auto host = session.host();
    if (!host) {
      session.messages.info("this host's buffers are not used: see 'leafctl show-config'");
      return;
    }
    if (all_users_) require_may_see_all_users();
    if (forget_) {
      forget(*host, session);
      return;
    }
    const std::chrono::milliseconds interval =
        interval_text_ ? parse_duration("--interval", *interval_text_,
                                        {std::chrono::milliseconds(10), std::chrono::hours(24)})
                       : std::chrono::seconds(1);
    if (!watch_) {
      print(*host, session);
      return;
    }
    const InterruptGuard guard;
    const bool wipes = session.output.is_terminal() && has_able_terminal(environment_of_this_process());
    const bool parts =
        session.output.is_terminal() && !wipes && session.output.format() == OutputFormat::text;
    InterruptibleClock clock;
    for (bool first = true;; first = false) {
      if (wipes) session.output.print_text("\x1b[H\x1b[2J");
      if (parts && !first) session.output.print_text("\n");
      print(*host, session);
      session.output.flush();
      InterruptibleClock::run([&] { clock.sleep_for(interval); });
    }
  }

 private:
  void require_no_other_work() const {
    const char* const other = watch_       ? "--watch"
                              : forget_    ? "--forget"
                              : all_users_ ? "--all-users"
                                           : nullptr;
    if (other != nullptr) {
      throw leaf::Error(leaf::ErrorCode::usage,
                        fmt::format("'--metrics' and '{}' exclude each other", other));
    }
  }

  static void print_metrics(Session& session) {
    const auto host = session.host();
    leaf::Store store = session.store();
    const StoreAnswers answers = ask_store(store, session.settings().store, host);
    if (answers.failure) session.messages.warning(answers.failure->what(), hint_text(*answers.failure));
    const auto buffers = host ? leaf::host_buffers(*host) : std::vector<leaf::HostBuffer>();
    MetricsText metrics;
    add_host_metrics(metrics, buffers);
    add_store_metrics(metrics, answers, buffers, current_time(), worker_policy(session.settings()));
    session.output.print_text(metrics.text());
  }

  /// By what the name led to with the present settings of libpq; or else, as what it led to with others may
  /// be out of reach, by what is shown of it.
  static std::size_t forget_store(const std::string& url, const leaf::HostOptions& host,
                                  std::chrono::milliseconds timeout) {
    std::size_t forgotten = leaf::forget_store(url, host, timeout);
    if (forgotten > 0) return forgotten;
    for (const leaf::HostBuffer& buffer : leaf::host_buffers(host)) {
      if (buffer.store == leaf::redact_url(url))
        forgotten += leaf::forget_store({buffer.deployment, buffer.copy}, host, timeout);
    }
    return forgotten;
  }

  /// What was granted stays known, so that no store is taken back to before it.
  void forget(const leaf::HostOptions& host, Session& session) const {
    const std::chrono::milliseconds timeout = session.settings().timeout;
    std::size_t forgotten = stores_.empty() ? leaf::forget_failing_buffers(host, timeout) : 0;
    for (const std::string& store : stores_)
      forgotten += forget_store(session.configuration.files.url_of(store), host, timeout);
    session.messages.info(forgotten == 0
                              ? "no buffers to discard"
                              : "discarded " +
                                    leaf::detail::counted(static_cast<std::int64_t>(forgotten), "buffer"));
    if (session.output.format() == OutputFormat::json)
      session.output.print_one(forgotten_columns, static_cast<std::int64_t>(forgotten));
  }

  void require_may_see_all_users() const {
    if (forget_)
      throw leaf::Error(leaf::ErrorCode::usage, "'--all-users' and '--forget' exclude each other",
                        "run this as that user"_hint);
    if (geteuid() != 0)
      throw leaf::Error(leaf::ErrorCode::usage, "'--all-users' is for root", "run it with sudo"_hint);
  }

  static std::vector<Seen> buffers_of_all_users(const leaf::HostOptions& host, Session& session) {
    std::vector<Seen> all;
    const leaf::UnixTime now = current_time();
    for (const UserFolder& folder : user_folders(host.folder)) {
      try {
        for (leaf::HostBuffer& buffer : leaf::host_buffers_of_any_user(folder.path))
          all.push_back({std::move(buffer), now, folder.user});
      } catch (const leaf::Error& error) {
        session.messages.warning(error.what());  // such as one that was removed at this moment
      }
    }
    return all;
  }

  static std::vector<Seen> own_buffers(const leaf::HostOptions& host) {
    std::vector<Seen> own;
    const leaf::UnixTime now = current_time();
    for (leaf::HostBuffer& buffer : leaf::host_buffers(host)) own.push_back({std::move(buffer), now});
    return own;
  }

  void print(const leaf::HostOptions& host, Session& session) const {
    std::vector<Seen> tags;
    std::vector<Seen> workers;
    for (Seen& seen : all_users_ ? buffers_of_all_users(host, session) : own_buffers(host)) {
      auto& list = seen.buffer.kind == leaf::HostBuffer::Kind::tag ? tags : workers;
      list.push_back(std::move(seen));
    }
    print_buffers(session.output, tag_columns, tags, all_users_);
    const bool are_tables = session.output.is_terminal() && session.output.format() == OutputFormat::text;
    if (are_tables && !tags.empty() && !workers.empty()) session.output.print_text("\n");
    print_buffers(session.output, worker_columns, workers, all_users_);
    if (tags.empty() && workers.empty()) {
      session.messages.info(fmt::format("nothing is buffered in '{}'", host.folder));
    }
  }

  bool watch_ = false;
  bool all_users_ = false;
  bool metrics_ = false;
  bool forget_ = false;
  std::vector<std::string> stores_;
  std::optional<std::string> interval_text_;
};

}  // namespace

std::unique_ptr<Command> make_status() {
  return std::make_unique<Status>();
}

}  // namespace leafctl
