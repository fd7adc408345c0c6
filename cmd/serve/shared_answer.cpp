#include "serve/shared_answer.hpp"

#include <boost/asio/post.hpp>
#include <exception>
#include <utility>

namespace leafctl::serve {

SharedAnswer::Ticket SharedAnswer::ask(boost::asio::io_context& loop, Told told) {
  const std::lock_guard lock(mutex_);
  const Ticket ticket = ++last_;
  askers_.emplace(ticket, Asker{&loop, std::move(told)});
  if (!is_asked_) {
    jobs_.add([this] { find(); });
    is_asked_ = true;
  }
  return ticket;
}

void SharedAnswer::forget(Ticket ticket) {
  const std::lock_guard lock(mutex_);
  askers_.erase(ticket);
}

void SharedAnswer::find() {
  const auto answer = std::make_shared<Answer>();
  try {
    answer->text = find_();
  } catch (const leaf::Error& error) {
    answer->error = error;
  } catch (const std::exception& error) {
    answer->error = leaf::Error(leaf::ErrorCode::failed, error.what());
  }
  const std::lock_guard lock(mutex_);
  is_asked_ = false;
  for (auto& [ticket, asker] : std::exchange(askers_, {}))
    boost::asio::post(*asker.loop, [answer, told = std::move(asker.told)] { told(*answer); });
}

void Awaited::ask(SharedAnswer& shared, boost::asio::io_context& loop, SharedAnswer::Told told) {
  forget();
  shared_ = &shared;
  is_awaited_ = std::make_shared<bool>(true);
  ticket_ = shared.ask(
      loop, [this, is_awaited = is_awaited_, told = std::move(told)](const SharedAnswer::Answer& answer) {
        if (!*is_awaited) return;
        shared_ = nullptr;
        told(answer);
      });
}

void Awaited::forget() {
  if (shared_ == nullptr) return;
  std::exchange(shared_, nullptr)->forget(ticket_);
  *is_awaited_ = false;
}

}  // namespace leafctl::serve
