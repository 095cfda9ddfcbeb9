#include "nam/process/connection.hpp"

#include <linux/sockios.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

#include <utility>

#include "nam/process/log.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::chrono::milliseconds starvation_pause{100};

}  // namespace

Connection::Connection(EventLoop& loop, Channel channel, OnMessage on_message, OnClose on_close)
    : loop_(loop),
      channel_(std::move(channel)),
      on_message_(std::move(on_message)),
      on_close_(std::move(on_close)),
      interest_(EPOLLIN) {
  loop_.watch(channel_.descriptor(), interest_, [this](std::uint32_t events) { on_events(events); });
}

Connection::~Connection() {
  if (!closed_) loop_.forget(channel_.descriptor());
}

void Connection::close() {
  if (closed_) return;
  closed_ = true;
  loop_.forget(channel_.descriptor());
  on_close_();
}

FileDescriptor Connection::release() {
  closed_ = true;
  loop_.forget(channel_.descriptor());
  return channel_.release();
}

bool Connection::has_unread() const noexcept {
  int unread = 0;
  return ::ioctl(channel_.descriptor(), SIOCOUTQ, &unread) == 0 && unread != 0;
}

bool Connection::has_lost_peer() const noexcept {
  pollfd entry{channel_.descriptor(), 0, 0};
  return closed_ || (::poll(&entry, 1, 0) == 1 && (entry.revents & (POLLHUP | POLLERR)) != 0);
}

void Connection::serve_in_turn(std::string user) {
  user_ = std::move(user);
  update_interest();
}

void Connection::on_events(std::uint32_t events) {
  if (user_.empty()) return handle(events);
  interest_ = 0;  // EPOLLONESHOT: watched again after the turn, when an unhandled event recurs
  if (!awaits_turn_) await_turn(events);
}

void Connection::await_turn(std::uint32_t events) {
  awaits_turn_ = true;
  loop_.in_turn(user_, [this, life = std::weak_ptr<void>(life_), events] {
    if (life.expired()) return;
    awaits_turn_ = false;
    try {
      handle(events);
    } catch (...) {
      close();
      throw;
    }
  });
}

void Connection::handle(std::uint32_t events) {
  if (closed_) return;
  if (!channel_.flush()) return close();
  bool const hung_up = (events & (EPOLLHUP | EPOLLERR)) != 0;
  if (hung_up || (events & EPOLLIN) != 0) has_ended_ = !channel_.fill() || hung_up;
  take_messages();
  if (closed_) return;
  if (has_ended_ && !awaits_turn_) return close();
  update_interest();
}

/// Takes in all messages that have arrived. A connection that is served in turn takes in one, and the next
/// one in its next turn.
void Connection::take_messages() {
  bool const takes_one = !user_.empty();
  bool has_taken = false;
  while (!closed_ && takes()) {
    if (takes_one && std::exchange(has_taken, true)) {
      if (channel_.has_input() && !awaits_turn_) await_turn(0);
      return;
    }
    try {
      std::optional<Message> message = channel_.next();
      if (!message) return;
      quiet_ = field_or(message->head, "quiet", false);
      on_message_(*message);
      quiet_ = quiet_ && paused_;
    } catch (Error const& error) {
      quiet_ = quiet_ && error.code() != ErrorCode::malformed;
      post(to_answer(error));
      quiet_ = false;
      if (error.code() == ErrorCode::malformed) close_when_sent();
    } catch (std::exception const& error) {
      log(Severity::error, std::string("a request failed: ") + error.what());
      quiet_ = false;
      post(to_answer(Error(ErrorCode::internal, "the server failed; its log has the reason")));
      close_when_sent();
    }
  }
}

void Connection::post(Json const& head, std::vector<std::byte> data,
                      std::vector<FileDescriptor> descriptors) {
  if (closed_ || quiet_) return;
  channel_.post(head, std::move(data), std::move(descriptors));
  bool const is_open = channel_.flush();
  update_interest();
  // Closed without waiting for an event of the socket, which may be full while more than the limit is kept.
  if (!is_open)
    loop_.later([this, life = std::weak_ptr<void>(life_)] {
      if (!life.expired()) close();
    });
}

void Connection::resume() {
  paused_ = false;
  quiet_ = false;
  resume_reading();
}

void Connection::resume_reading() {
  if (closed_) return;
  take_messages();
  if (!closed_) update_interest();
}

void Connection::close_when_sent() {
  closing_ = true;
  if (!closed_) update_interest();
}

bool Connection::has_room() const noexcept {
  return channel_.output_bytes() <= max_output_ && (max_output_ != 0 || !has_output());
}

bool Connection::takes() const noexcept { return has_room() && !paused_ && !closing_; }

/// Tries again after a pause: the socket may be writable all the time.
void Connection::note_starvation() {
  bool const was_starved = std::exchange(is_starved_, channel_.is_starved());
  if (!is_starved_) return;
  loop_.pause(channel_.descriptor(), starvation_pause);
  if (was_starved) return;
  log(Severity::warning,
      "a message is sent later: the system lacks memory, or has too many descriptors in flight");
}

void Connection::update_interest() {
  if (closing_ && !channel_.has_output()) return close();
  note_starvation();
  if (awaits_turn_) return;
  // post() may have sent the output that was too much: messages that have arrived already cause no event.
  bool const has_drained = std::exchange(was_full_, !has_room()) && !was_full_;
  if (has_drained && !user_.empty() && takes() && channel_.has_input()) return await_turn(0);
  std::uint32_t const wanted = (takes() ? EPOLLIN : 0u) | (channel_.has_output() ? EPOLLOUT : 0u) |
                               (user_.empty() ? 0u : EPOLLONESHOT);
  // Messages that have arrived already cause no event.
  bool const resumes = (wanted & ~interest_ & EPOLLIN) != 0 && user_.empty() && channel_.has_input();
  if (resumes)
    loop_.later([this, life = std::weak_ptr<void>(life_)] {
      if (!life.expired()) resume_reading();
    });
  if (wanted == interest_) return;
  interest_ = wanted;
  loop_.change(channel_.descriptor(), wanted);
}

}  // namespace mpixrma::nam
