/// The UCX worker of a channel: endpoints, active messages, progress, sleeping.
/// Not thread-safe: used under the channel's lock, but for event_fd().
#pragma once

#include <ucp/api/ucp.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/base/drops.hpp"
#include "engine/base/log.hpp"
#include "engine/base/status.hpp"
#include "engine/net/seals.hpp"
#include "engine/net/ucx_context.hpp"
#include "engine/net/wire.hpp"

namespace mpixrma::engine {

class Transport;

/// A message that is being built or sent. Taken from Transport::message, handed over to Transport::send.
class Message {
 public:
  /// The header; set before sending.
  template <typename Header>
  void set_header(Header const& header) noexcept {
    static_assert(sizeof(Header) <= wire::max_header_bytes);
    __builtin_memcpy(header_.data(), &header, sizeof header);
    header_bytes_ = sizeof header;
  }

  /// Room for `bytes` bytes of payload, aligned to 64 bytes; becomes the payload.
  std::byte* payload(std::size_t bytes);

  /// Leaves out what stands behind the first `bytes` bytes of payload().
  void cut(std::size_t bytes) noexcept { payload_bytes_ = bytes; }

  /// Sends the caller's memory instead, which must stay until `sent` is called.
  void borrow(std::byte const* data, std::size_t bytes) noexcept {
    payload_ = data;
    payload_bytes_ = bytes;
  }

  /// Called once when the payload is no longer referred to. May be null.
  void (*sent)(void* argument) noexcept = nullptr;
  void* sent_argument = nullptr;

 private:
  friend class Transport;
  /// Of the payload, those that stand in `storage_`.
  std::size_t copied_bytes() const noexcept { return payload_ == storage_.get() ? payload_bytes_ : 0; }

  Transport* owner_ = nullptr;
  // While UCX has it: where it goes, and its neighbours among all that UCX has.
  ucp_ep_h endpoint_ = nullptr;
  Message* previous_ = nullptr;
  Message* next_ = nullptr;
  std::size_t header_bytes_ = 0;
  std::byte const* payload_ = nullptr;
  std::size_t payload_bytes_ = 0;
  std::size_t capacity_ = 0;
  std::unique_ptr<std::byte[]> storage_;
  alignas(64) std::array<std::byte, wire::max_sealed_header_bytes> header_{};
};

/// Receives active messages, while the channel is locked, from inside progress().
struct MessageHandler {
  virtual ~MessageHandler() = default;
  /// A message of any kind but a farewell.
  virtual void on_message(wire::MessageClass kind, std::span<std::byte const> header,
                          std::span<std::byte const> payload) noexcept = 0;
  virtual void on_farewell(std::span<std::byte const> header) noexcept = 0;
  /// The connection is of no use any more. Also from inside of Transport::send.
  virtual void on_lost(ucp_ep_h endpoint, char const* reason) noexcept = 0;
  /// A sealed message on the connection with the process was not what the process has sent.
  virtual void on_forged(std::uint64_t process, char const* reason) noexcept = 0;
};

class Transport {
 public:
  /// `only_sealed`: of what arrives, nothing but handshakes is taken in clear.
  explicit Transport(Log const& log, bool only_sealed = false)
      : log_(log), drops_("message", log), only_sealed_(only_sealed) {}
  ~Transport();
  Transport(Transport const&) = delete;
  Transport& operator=(Transport const&) = delete;

  /// Makes the worker. Leaves nothing behind where that fails, for which there is a log line.
  Status open(MessageHandler& handler, UcxContext const& context);
  /// Closes endpoints and the worker; messages that are not sent are dropped.
  void close() noexcept;

  std::vector<std::byte> worker_address() const;

  /// A new endpoint to the worker with this address; nullptr on failure, after one log line. With
  /// `detect_failure` a lost connection is reported to the handler; UCX's shared memory cannot do that.
  ucp_ep_h connect(std::span<std::byte const> worker_address, bool detect_failure);
  /// Gives an endpoint up at once: what is under way on it ends, sent or not. Not from UCX callbacks.
  void disconnect(ucp_ep_h endpoint) noexcept;
  /// Closes an endpoint that neither side uses any more, once what was sent is on its way. Not from UCX
  /// callbacks.
  void part(ucp_ep_h endpoint);
  std::size_t endpoints() const noexcept { return endpoints_.size(); }

  /// Connections whose messages are sealed, all but their handshakes.
  Seals& seals() noexcept { return seals_; }
  /// Such a message has its payload in memory of its own: Message::borrow is not for this endpoint.
  bool is_sealed(ucp_ep_h endpoint) noexcept {
    return !seals_.empty() && seals_.sealer_of(endpoint) != nullptr;
  }
  /// Sealed messages that were not taken, and those in clear that are to be sealed.
  std::uint64_t dropped() const noexcept { return drops_.count(); }

  Message& message();
  /// Sends and takes back `message`, sealed where the endpoint's messages are. Failure: the connection is
  /// lost, and the handler was told.
  Status send(ucp_ep_h endpoint, wire::MessageClass kind, Message& message);
  /// Takes back a message that is not to be sent.
  void discard(Message& message) noexcept { recycle(message); }

  /// Messages that UCX has accepted but not sent yet. They need progress, and no event announces it.
  std::size_t unsent() const noexcept { return unsent_; }
  /// The bytes of payload in them that were copied.
  std::size_t unsent_bytes() const noexcept { return unsent_bytes_; }

  /// Whether messages to the endpoint are among them.
  bool has_unsent(ucp_ep_h endpoint) const noexcept;

  int progress() noexcept;
  /// An endpoint has gone. When it was the last one of an interface, UCX takes what arrives there for an
  /// event again only once it was driven some more.
  bool is_unsettled() const noexcept { return unsettled_ != 0; }

  /// Prepares event_fd() to become readable at the next event. False: there are events, progress first.
  bool arm() noexcept { return !is_unsettled() && ucp_worker_arm(worker_) == UCS_OK; }
  int event_fd() const noexcept { return event_fd_; }

  ucp_worker_h worker() const noexcept { return worker_; }

 private:
  bool ok(ucs_status_t status, char const* what) const noexcept;
  Status create_worker(UcxContext const& context);
  Status install(wire::MessageClass kind, ucp_am_recv_callback_t callback);
  wire::MessageClass seal(ucp_ep_h endpoint, wire::MessageClass kind, Message& message) noexcept;
  void open_sealed(std::span<std::byte const> header, std::span<std::byte const> payload) noexcept;
  void recycle(Message& message) noexcept;
  void take_back(Message& message) noexcept;
  void note_unsent(Message& message, ucp_ep_h endpoint) noexcept;
  void note_sent(Message& message) noexcept;
  void start_closing(ucp_ep_h endpoint, bool force) noexcept;
  void note_gone() noexcept { unsettled_ = 2; }  // one turn where the interface has nothing to say any more
  void close_parted() noexcept;
  void abandon_unsent(ucp_ep_h endpoint);
  static void on_error(void* self, ucp_ep_h endpoint, ucs_status_t status);
  static void on_sent(void* request, ucs_status_t status, void* argument);
  template <wire::MessageClass kind>
  static ucs_status_t on_message(void* self, void const* header, std::size_t header_bytes, void* data,
                                 std::size_t bytes, ucp_am_recv_param_t const* param);
  static ucs_status_t on_farewell(void* self, void const* header, std::size_t header_bytes, void* data,
                                  std::size_t bytes, ucp_am_recv_param_t const* param);

  static ucs_status_t on_sealed(void* self, void const* header, std::size_t header_bytes, void* data,
                                std::size_t bytes, ucp_am_recv_param_t const* param);

  MessageHandler* handler_ = nullptr;
  Log const& log_;
  Drops drops_;
  bool only_sealed_;
  Seals seals_;
  std::vector<std::byte> opened_;  ///< payload of the sealed message that is being handled
  ucp_worker_h worker_ = nullptr;
  int event_fd_ = -1;
  std::unordered_map<ucp_ep_h, bool> endpoints_;  ///< with: whether it detects failures
  std::vector<ucs_status_ptr_t> closing_;         ///< of endpoints, until UCX is done with them
  struct Parting {
    ucp_ep_h endpoint;
    ucs_status_ptr_t flush;
  };
  std::vector<Parting>
      parting_;  ///< endpoints of part() that are to be forced closed when the flush has ended
  std::vector<std::unique_ptr<Message>> free_;
  std::vector<std::unique_ptr<Message>> abandoned_;  ///< that UCX never lets go of, until it ends
  int unsettled_ = 0;                                ///< turns without an event that UCX is to be driven
  Message* unsent_messages_ = nullptr;
  std::size_t unsent_ = 0;
  std::size_t unsent_bytes_ = 0;
};

}  // namespace mpixrma::engine
