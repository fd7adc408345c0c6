#include "store/postgresql/resolver.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>

#include <algorithm>
#include <array>
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

/// Look-ups that are under way, each in a thread that nobody waits for at the end: a resolver cannot be
/// stopped.
class LookUps {
 public:
  void begin(const std::string& name) {
    const auto [place, is_new] = add(name);
    if (!is_new) return;
    try {
      const NoSignals in_thread;
      std::thread([place = place, answers = answers_]() noexcept {
        Answer answer;
        try {
          answer = look_up(place->first);
        } catch (const std::bad_alloc&) {
          answer.failure = "out of memory";  // so short a text needs none
        }
        answers->take(place->second, std::move(answer));
      }).detach();
    } catch (const std::system_error& error) {
      answers_->take(place->second, {.addresses = {},
                                     .failure = fmt::format("{} to look up host name \"{}\": {}", no_thread,
                                                            name, error.what())});
    }
  }

  /// Until all are done, and after `enough` until there is an address.
  std::map<std::string, Answer> wait(Deadline enough, Deadline deadline) const {
    std::unique_lock lock(answers_->mutex);
    const auto all = [&] {
      return std::ranges::all_of(answers_->by_name, [](const auto& entry) { return entry.second.has_come; });
    };
    answers_->changed.wait_until(lock, std::min(enough, deadline), all);
    answers_->changed.wait_until(lock, deadline, [&] {
      return all() || std::ranges::any_of(answers_->by_name,
                                          [](const auto& entry) { return !entry.second.addresses.empty(); });
    });
    return answers_->by_name;
  }

 private:
  using ByName = std::map<std::string, Answer>;
  struct Answers {
    void take(Answer& place, Answer&& answer) noexcept {
      const std::lock_guard lock(mutex);
      place = std::move(answer);
      place.has_come = true;
      changed.notify_all();
    }

    std::mutex mutex;
    std::condition_variable changed;
    ByName by_name;  // of those too that have not come
  };

  std::pair<ByName::iterator, bool> add(const std::string& name) {
    const std::lock_guard lock(answers_->mutex);
    return answers_->by_name.try_emplace(name);
  }

  std::shared_ptr<Answers> answers_ = std::make_shared<Answers>();
};

}  // namespace

Resolution resolve(const Servers& servers, Deadline deadline) {
  const std::vector<Server> named = one_by_one(servers);
  if (std::ranges::none_of(named, needs_resolver)) return {.servers = servers, .failures = {}};
  LookUps look_ups;
  for (const Server& server : named) {
    if (needs_resolver(server)) look_ups.begin(server.host);
  }
  const auto now = steady_clock::now();
  const Deadline half = now + (deadline - now) / 2;
  const bool is_other_left = !std::ranges::all_of(named, needs_resolver);
  const auto answers = look_ups.wait(named.size() == 1 ? deadline : half, is_other_left ? half : deadline);

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
