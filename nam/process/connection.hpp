/// A channel in an event loop: handles one request at a time, and none while its peer does not take in the
/// answers, unless it is a link between processes that both send unasked.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "nam/process/event_loop.hpp"
#include "nam/protocol/channel.hpp"

namespace mpixrma::nam {

class Connection {
 public:
  using OnMessage = std::function<void(Message&)>;
  using OnClose = std::function<void()>;

  /// `on_message` may throw Error, which then is the answer; Error(malformed) ends the connection, as does
  /// any other exception, after Error(internal). `on_message` is not called between pause() and resume(). A
  /// request that is `quiet` has no answer: messages that are posted meanwhile are not sent, until resume()
  /// if the request pauses the connection. `on_close` is called at most once, and must destroy the connection
  /// only by EventLoop::later.
  Connection(EventLoop& loop, Channel channel, OnMessage on_message, OnClose on_close);
  ~Connection();
  Connection(Connection const&) = delete;
  Connection& operator=(Connection const&) = delete;

  void post(Json const& head, std::vector<std::byte> data = {}, std::vector<FileDescriptor> descriptors = {});
  /// No message is taken in until resume().
  void pause() noexcept { paused_ = true; }
  void resume();
  bool is_paused() const noexcept { return paused_; }
  /// From now on messages are taken in as long as no more than `max_output` bytes wait to be sent. For a
  /// link on which both sides send unasked: if each stopped reading while it has output, both could wait for
  /// ever (docs/decisions/0019).
  void read_while_sending(std::size_t max_output) noexcept { max_output_ = max_output; }
  std::size_t output_bytes() const noexcept { return channel_.output_bytes(); }
  void set_limits(ChannelLimits const& limits) noexcept { channel_.set_limits(limits); }
  void set_account(KeptBytes::Account account) { channel_.set_account(std::move(account)); }
  /// From now on each event and each message waits for the turn of `user` (EventLoop::in_turn), so that the
  /// connections of one user do not delay those of others. Called again when the user is known.
  void serve_in_turn(std::string user);
  std::string const& user() const noexcept { return user_; }
  void protect(SecureStream stream) { channel_.protect(std::move(stream)); }
  std::string stream_state() const { return channel_.stream_state(); }
  /// Closes the connection after posted messages have been sent.
  void close_when_sent();
  /// Closes the connection at once.
  void close();
  /// Whether the peer has closed its end, even if messages that came before are not served yet.
  bool has_lost_peer() const noexcept;
  bool has_output() const noexcept { return channel_.has_output(); }
  /// Whether the peer, on this host, has not read all that was sent to it.
  bool has_unread() const noexcept;
  /// Whether everything that came is taken in and everything posted is sent.
  bool is_idle() const noexcept { return !channel_.has_input() && !channel_.has_output(); }
  int descriptor() const noexcept { return channel_.descriptor(); }
  /// Returns the socket; the connection is not used any more.
  FileDescriptor release();

 private:
  void on_events(std::uint32_t events);
  void await_turn(std::uint32_t events);
  void handle(std::uint32_t events);
  void take_messages();
  void resume_reading();
  bool has_room() const noexcept;
  bool takes() const noexcept;
  void update_interest();
  void note_starvation();

  EventLoop& loop_;
  Channel channel_;
  OnMessage on_message_;
  OnClose on_close_;
  bool paused_ = false;
  bool closed_ = false;
  bool closing_ = false;
  bool quiet_ = false;
  bool is_starved_ = false;     ///< as reported in the log
  std::size_t max_output_ = 0;  ///< with which messages are taken in
  bool was_full_ = false;       ///< no message was taken in: too much waited to be sent
  std::string user_;            ///< whose turn it waits for; empty: does not wait
  bool awaits_turn_ = false;    ///< meanwhile the watched events do not change
  bool has_ended_ = false;      ///< the peer has closed; messages that came before are served
  std::shared_ptr<void> life_ = std::make_shared<char>();  ///< ends with this object, for tasks that wait
  std::uint32_t interest_;
};

}  // namespace mpixrma::nam
