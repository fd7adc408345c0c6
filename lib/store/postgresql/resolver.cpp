#include "store/postgresql/resolver.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "store/fork_guard.hpp"
#include "store/no_signals.hpp"

namespace leaf::store::postgresql {

namespace {

using std::chrono::steady_clock;

/// Whether libpq would ask the resolver; it asks none for an address or a socket's folder.
bool needs_resolver(const Server& server) {
  if (!server.address.empty() || server.host.empty() || server.host[0] == '/' || server.host[0] == '@')
    return false;
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  return inet_pton(AF_INET, server.host.c_str(), ignored.data()) != 1 &&
         inet_pton(AF_INET6, server.host.c_str(), ignored.data()) != 1;
}

struct Answer {
  std::vector<std::string> addresses;
  std::string failure;
  bool has_come = false;
};

/// At its end a thread gives back its share of the resolver's configuration, under a lock that no guard could
/// keep from a fork. What it has given back before, it leaves alone then; but the next thread may find it
/// where its own is to be, and has to read the configuration anew.
void forget_configuration() {
#ifdef __GLIBC__
  res_nclose(&_res);
  _res.nscount = 0;
  _res.options = 0;
#endif
}

Answer look_up(const std::string& name) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  Answer answer;
  const int error = [&] {
    const fork_guard::HoldBriefly no_fork;
    const int result = getaddrinfo(name.c_str(), nullptr, &wanted, &found);
    forget_configuration();
    return result;
  }();
  if (error != 0) {
    answer.failure =
        fmt::format("could not translate host name \"{}\" to address: {}", name, gai_strerror(error));
    return answer;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
  for (; found != nullptr; found = found->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(found->ai_addr, found->ai_addrlen, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) == 0)
      answer.addresses.emplace_back(text.data());
  }
  return answer;
}

/// Of a name, for all who ask for it meanwhile.
struct LookUp {
  std::string name;
  Answer answer{};
};

/// The look-ups that are under way in this process, each in a thread that nobody waits for at the end: a
/// resolver cannot be stopped. One for each name: else whoever asks again while no name server answers would
/// leave a thread behind each time.
class LookUps {
 public:
  static LookUps& of_this_process() {
    static constinit std::atomic<LookUps*> current{nullptr};
    LookUps* known = current.load(std::memory_order_acquire);
    if (known != nullptr && known->generation_ == fork_guard::generation()) return *known;
    auto own = std::make_unique<LookUps>();  // the threads of the parent's are not here
    if (!current.compare_exchange_strong(known, own.get(), std::memory_order_acq_rel)) return *known;
    return *own.release();
  }

  std::shared_ptr<const LookUp> begin(const std::string& name) {
    const std::unique_lock lock(mutex_);
    const auto [place, is_new] = under_way_.try_emplace(name);
    if (!is_new) return place->second;
    std::shared_ptr<LookUp> begun;
    try {
      begun = place->second = std::make_shared<LookUp>(LookUp{.name = name});
      const NoSignals in_thread;
      std::thread([this, begun]() noexcept { run(begun); }).detach();
    } catch (const std::system_error& error) {
      under_way_.erase(place);
      begun->answer = {
          .addresses = {},
          .failure = fmt::format("{} to look up host name \"{}\": {}", no_thread, name, error.what()),
          .has_come = true};
    } catch (...) {
      under_way_.erase(place);
      throw;
    }
    return begun;
  }

  /// Until all are done, and after `enough` until there is an address. Returns their answers.
  std::map<std::string, Answer> wait(const std::vector<std::shared_ptr<const LookUp>>& look_ups,
                                     Deadline enough, Deadline deadline) {
    std::unique_lock lock(mutex_);
    const auto all = [&] {
      return std::ranges::all_of(look_ups, [](const auto& look_up) { return look_up->answer.has_come; });
    };
    changed_.wait_until(lock, std::min(enough, deadline), all);
    changed_.wait_until(lock, deadline, [&] {
      return all() || std::ranges::any_of(
                          look_ups, [](const auto& look_up) { return !look_up->answer.addresses.empty(); });
    });
    std::map<std::string, Answer> answers;
    for (const auto& look_up : look_ups) answers.emplace(look_up->name, look_up->answer);
    return answers;
  }

 private:
  void run(const std::shared_ptr<LookUp>& begun) noexcept {
    Answer answer;
    try {
      answer = look_up(begun->name);
    } catch (const std::bad_alloc&) {
      answer.failure = "out of memory";  // so short a text needs none
    }
    const std::lock_guard lock(mutex_);
    under_way_.erase(begun->name);
    begun->answer = std::move(answer);
    begun->answer.has_come = true;
    changed_.notify_all();
  }

  const unsigned generation_ = fork_guard::generation();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::shared_ptr<LookUp>> under_way_;
};

}  // namespace

Resolution resolve(const Servers& servers, Deadline deadline) {
  const std::vector<Server> named = one_by_one(servers);
  if (std::ranges::none_of(named, needs_resolver)) return {.servers = servers, .failures = {}};
  LookUps& of_all = LookUps::of_this_process();
  std::vector<std::shared_ptr<const LookUp>> look_ups;
  for (const Server& server : named) {
    if (needs_resolver(server)) look_ups.push_back(of_all.begin(server.host));
  }
  const auto now = steady_clock::now();
  const Deadline half = now + (deadline - now) / 2;
  const bool is_other_left = !std::ranges::all_of(named, needs_resolver);
  const auto answers =
      of_all.wait(look_ups, named.size() == 1 ? deadline : half, is_other_left ? half : deadline);

  std::vector<Server> found;
  Resolution result;
  for (const Server& server : named) {
    if (!needs_resolver(server)) {
      found.push_back(server);
      continue;
    }
    const Answer& answer = answers.at(server.host);
    if (!answer.has_come) {
      result.failures.push_back(fmt::format("host name \"{}\" was not resolved in time", server.host));
      continue;
    }
    if (!answer.failure.empty()) result.failures.push_back(answer.failure);
    for (const std::string& address : answer.addresses)
      found.push_back({.host = server.host, .address = address, .port = server.port});
  }
  result.servers = in_lists(found);
  result.is_anybody_left = !found.empty();
  return result;
}

}  // namespace leaf::store::postgresql
