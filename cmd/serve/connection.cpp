#include "serve/connection.hpp"

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "serve/loop.hpp"
#include "serve/server.hpp"

namespace leafctl::serve {

namespace {

/// Answers that are larger are sent before more requests are handled.
constexpr std::size_t large_output = 256UL * 1024;
/// For the other end to notice that nothing more is read.
constexpr std::chrono::seconds longest_lingering{2};

}  // namespace

Connection::Connection(Loop& loop, Protocol protocol, int socket, std::unique_ptr<TlsSession> tls,
                       std::string remote)
    : loop_(loop),
      protocol_(protocol),
      socket_(socket),
      tls_(std::move(tls)),
      remote_(std::move(remote)),
      active_(loop.now()) {
  loop_.statistics().count_opened(protocol_);
  watched_ = EPOLLIN;
  loop_.watch(*this, watched_, true);
}

Connection::~Connection() {
  end_wait();
  loop_.statistics().count_closed(protocol_);
  ::close(socket_);
}

void Connection::on_events(std::uint32_t events) {
  if (is_closed_) return;
  if (lingers_) {
    drop_input();
    return;
  }
  constexpr std::uint32_t gone = EPOLLERR | EPOLLHUP;
  // What was sent before it hung up is still read.
  if ((events & gone) != 0 && ((events & EPOLLIN) == 0 || !may_read())) {
    close();
    return;
  }
  if (!unsent_.empty() && ((events & EPOLLOUT) != 0 || write_wants_read_)) {
    send_rest();
    if (is_closed_ || !unsent_.empty()) {
      if (!is_closed_) watch();
      return;
    }
    // What is left of a request was not read meanwhile.
    if (request_begun_ != Time()) request_begun_ = loop_.now();
    if (!waits_) serve({});  // else once the answer that is waited for has come
    if (is_closed_) return;
  }
  if (may_read()) read_and_serve();
  if (!is_closed_) watch();
}

void Connection::read_and_serve() {
  do {
    const std::span<char> buffer = loop_.input();
    const std::size_t kept = input_.size();
    std::copy(input_.begin(), input_.end(), buffer.begin());
    std::size_t count = 0;
    const Read result = read(buffer.data() + kept, buffer.size() - kept, count);
    if (result == Read::none) {
      if (is_finishing_) close_if_done();
      return;
    }
    if (result == Read::broken) {
      close();
      return;
    }
    if (result == Read::ended) has_ended_ = true;
    active_ = loop_.now();
    input_.clear();
    serve({buffer.data(), kept + count});
  } while (!is_closed_ && may_read() && tls_ && tls_->has_more());
}

Connection::Read Connection::read(char* to, std::size_t size, std::size_t& count) {
  if (tls_) {
    switch (tls_->read(to, size, count)) {
      case TlsSession::Result::done:
        read_wants_write_ = false;
        return Read::some;
      case TlsSession::Result::wants_read:
        read_wants_write_ = false;
        return Read::none;
      case TlsSession::Result::wants_write:
        read_wants_write_ = true;
        return Read::none;
      case TlsSession::Result::closed:
        return Read::ended;
      default:
        return Read::broken;
    }
  }
  const ssize_t result = recv(socket_, to, size, 0);
  if (result > 0) {
    count = static_cast<std::size_t>(result);
    return Read::some;
  }
  if (result == 0) return Read::ended;
  return errno == EAGAIN || errno == EINTR ? Read::none : Read::broken;
}

/// `input` lies in the loop's buffer, or is empty: then what was kept is meant.
void Connection::serve(std::string_view input) {
  std::string kept;
  if (input.empty()) {
    kept = std::exchange(input_, {});
    input = kept;
  }
  std::string& out = loop_.output();
  std::vector<std::uint32_t>& ends = loop_.answer_ends();
  const std::size_t received = input.size();
  Step step = Step::handled;
  while (!closes_ && !is_closed_) {
    out.clear();
    ends.clear();
    step = Step::handled;
    while (step == Step::handled && !input.empty() && out.size() < large_output) {
      step = handle(input, out);
      ends.push_back(static_cast<std::uint32_t>(out.size()));
    }
    waits_ = step == Step::waits;
    rejects_ = rejects_ || step == Step::rejects;
    closes_ = closes_ || rejects_ || step == Step::closes;
    if (!out.empty()) send(out, ends);
    if (step != Step::handled || input.empty() || is_closed_ || !unsent_.empty()) break;
  }
  if (is_closed_) return;
  if (waits_) {
    waits_since_ = loop_.now();
    loop_.begin_wait(*this, waits_since_ + patience());
  }
  // One that was complete does not count against those behind it.
  if (step != Step::incomplete || input.size() < received) request_begun_ = {};
  if (step == Step::incomplete && !input.empty() && request_begun_ == Time()) request_begun_ = loop_.now();
  // Nothing can complete it.
  if (step == Step::incomplete && nothing_follows()) input = {};
  if (closes_) input = {};
  keep(input);
  close_if_done();
}

void Connection::keep(std::string_view input) {
  if (input.empty()) {
    std::string().swap(input_);
  } else {
    input_.assign(input);
  }
}

/// Whether no more is read: what had come before the server began to end still is.
bool Connection::nothing_follows() const noexcept {
  if (has_ended_ || !is_finishing_) return has_ended_;
  int unread = 0;
  return (ioctl(socket_, FIONREAD, &unread) != 0 || unread == 0) && !(tls_ && tls_->has_more());
}

void Connection::close_if_done() {
  const bool is_last = closes_ || (input_.empty() && nothing_follows());
  if (!is_last || waits_ || !unsent_.empty()) return;
  if (rejects_ && !has_ended_ && !is_finishing_) {
    linger();
  } else {
    close();
  }
}

/// With input unread the kernel would reset the connection, and the answer might be lost.
void Connection::linger() {
  if (lingers_) return;
  lingers_ = true;
  active_ = loop_.now();
  if (tls_) tls_->close();
  shutdown(socket_, SHUT_WR);
  drop_input();
}

void Connection::drop_input() {
  const std::span<char> buffer = loop_.input();
  for (int reads = 0; reads < 16; ++reads) {
    const ssize_t count = recv(socket_, buffer.data(), buffer.size(), 0);
    if (count > 0) continue;
    if (count == 0 || (errno != EAGAIN && errno != EINTR)) close();
    return;
  }
}

/// What slow clients make the server hold has a limit.
void Connection::account() {
  const std::size_t held = is_closed_ ? 0 : input_.size() + unsent_.held();
  if (held == accounted_) return;
  const bool fits = loop_.account(accounted_, held);
  accounted_ = held;
  if (!fits) close();
}

std::chrono::milliseconds Connection::patience() const noexcept {
  return loop_.patience();
}

void Connection::end_wait() noexcept {
  waits_ = false;
  loop_.end_wait(*this);
}

void Connection::resume(std::string_view answer, bool closes) {
  if (is_closed_) return;
  loop_.refresh_now();
  end_wait();
  closes_ = closes_ || closes;
  send(answer);
  if (!is_closed_ && unsent_.empty()) serve({});
  if (!is_closed_ && may_read() && tls_ && tls_->has_more()) read_and_serve();
  if (!is_closed_) watch();
}

/// What is not taken at once is kept.
void Connection::send(std::string_view answers, std::span<const std::uint32_t> ends) {
  active_ = loop_.now();
  const bool has_to_queue = !unsent_.empty();
  const std::size_t written = has_to_queue ? 0 : write(answers);
  if (written < answers.size()) unsent_.add(answers, ends, written, loop_.now());
  if (has_to_queue) send_rest();
}

void Connection::send_rest() {
  active_ = loop_.now();
  unsent_.take(write(unsent_.rest()), loop_.now());
}

/// How much of it was taken. Closes the connection if nothing ever will be.
std::size_t Connection::write(std::string_view text) {
  std::size_t written = 0;
  write_wants_read_ = false;
  while (written < text.size()) {
    if (tls_) {
      std::size_t count = 0;
      const TlsSession::Result result = tls_->write(text.data() + written, text.size() - written, count);
      written += count;
      if (result == TlsSession::Result::done) continue;
      write_wants_read_ = result == TlsSession::Result::wants_read;
      if (result != TlsSession::Result::wants_read && result != TlsSession::Result::wants_write) close();
      return written;
    }
    const ssize_t count = ::send(socket_, text.data() + written, text.size() - written, MSG_NOSIGNAL);
    if (count >= 0) {
      written += static_cast<std::size_t>(count);
      // The rest would not fit either.
      if (written < text.size()) return written;
    } else if (errno != EINTR) {
      if (errno != EAGAIN) close();
      return written;
    }
  }
  return written;
}

void Connection::watch() {
  std::uint32_t wanted = 0;
  if (lingers_) {
    wanted = EPOLLIN;
  } else if (!unsent_.empty()) {
    wanted = write_wants_read_ ? EPOLLIN : EPOLLOUT;
  } else if (may_read()) {
    wanted = read_wants_write_ ? EPOLLOUT : EPOLLIN;
  }
  account();
  if (is_closed_ || wanted == watched_) return;
  watched_ = wanted;
  loop_.watch(*this, wanted, false);
}

void Connection::check_time(Time now) {
  if (is_closed_) return;
  const Options& options = loop_.server().options();
  const bool is_slow_to_take = unsent_.is_late(now, options.request_timeout);
  const bool lingers_long = lingers_ && now - active_ > longest_lingering;
  const bool is_idle = !waits_ && input_.empty() && now - active_ > options.idle_timeout;
  if (is_slow_to_take || is_idle || lingers_long) {
    close();
    return;
  }
  const bool is_read = !waits_ && !lingers_ && unsent_.empty();
  if (is_read && request_begun_ != Time() && now - request_begun_ > options.request_timeout) {
    std::string answer;
    append_late(answer);
    request_begun_ = {};
    closes_ = rejects_ = true;
    input_.clear();
    send(answer);
    close_if_done();
    if (!is_closed_) watch();
  }
}

void Connection::finish() {
  if (is_closed_) return;
  is_finishing_ = true;
  if (may_read()) read_and_serve();
  if (!is_closed_) close_if_done();
  if (!is_closed_) watch();
}

void Connection::close() noexcept {
  if (is_closed_) return;
  is_closed_ = true;
  end_wait();
  abandon();
  if (tls_ && !lingers_) tls_->close();
  account();
  loop_.forget(*this);
}

}  // namespace leafctl::serve
