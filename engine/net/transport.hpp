/// The UCX worker of a channel: endpoints, active messages, progress, and a descriptor to wait for events.
/// Not thread-safe: used under the channel's lock, except for open() and event_fd().
#pragma once

#include <ucp/api/ucp.h>

#include <array>
#include <atomic>
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

/// Memory of messages that the transport has not taken back.
struct MessageAccount {
  std::size_t bytes = 0;
  std::shared_ptr<MessageAccount> all{};  ///< the total of several accounts; may be null
};

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

  /// Returns the message's own buffer, which becomes the payload: `bytes` bytes, aligned to at least 8 bytes.
  std::byte* payload(std::size_t bytes);

  /// Reduces the payload to its first `bytes` bytes.
  void cut(std::size_t bytes) noexcept { payload_bytes_ = bytes; }

  /// Uses the caller's memory as payload, which must stay valid until `sent` is called.
  void borrow(std::byte const* data, std::size_t bytes) noexcept {
    payload_ = data;
    payload_bytes_ = bytes;
  }

  /// Counts the memory of the message and of payload() in `account` until the transport takes the message
  /// back.
  void charge(std::shared_ptr<MessageAccount> account) noexcept;

  /// Called once when the payload is no longer referred to. May be null.
  void (*sent)(void* argument) noexcept = nullptr;
  void* sent_argument = nullptr;

 private:
  friend class Transport;
  /// Undoes charge().
  void discharge() noexcept;
  /// The bytes of the payload that are in `storage_`.
  std::size_t copied_bytes() const noexcept { return payload_ == storage_.get() ? payload_bytes_ : 0; }

  Transport* owner_ = nullptr;
  // While UCX owns the message: its destination, and its neighbours in the list of all such messages.
  ucp_ep_h endpoint_ = nullptr;
  Message* previous_ = nullptr;
  Message* next_ = nullptr;
  std::size_t header_bytes_ = 0;
  std::byte const* payload_ = nullptr;
  std::size_t payload_bytes_ = 0;
  std::size_t capacity_ = 0;
  std::unique_ptr<std::byte[]> storage_;
  std::shared_ptr<MessageAccount> account_;  ///< nullptr: the message is not counted
  std::size_t charged_bytes_ = 0;
  alignas(64) std::array<std::byte, wire::max_sealed_header_bytes> header_{};
};

/// Receives active messages from inside progress(), with the channel locked.
struct MessageHandler {
  virtual ~MessageHandler() = default;
  /// A message of any class except disconnect messages.
  virtual void on_message(wire::MessageClass kind, std::span<std::byte const> header,
                          std::span<std::byte const> payload) noexcept = 0;
  virtual void on_disconnect(std::span<std::byte const> header) noexcept = 0;
  /// The connection is unusable. Also called from inside of Transport::send.
  virtual void on_lost(ucp_ep_h endpoint, char const* reason) noexcept = 0;
  /// A sealed message on the connection with the process was rejected, for example as not authentic.
  virtual void on_rejected(std::uint64_t process, char const* reason) noexcept = 0;
};

class Transport {
 public:
  /// `only_sealed`: of incoming messages, only handshakes are accepted unencrypted.
  explicit Transport(Log const& log, bool only_sealed = false)
      : log_(log), drops_("message", log), only_sealed_(only_sealed) {
    free_.reserve(kept_messages);
  }
  ~Transport();
  Transport(Transport const&) = delete;
  Transport& operator=(Transport const&) = delete;

  /// Creates the worker, which is not used before begin(). Leaves no state behind on failure, which is
  /// logged. Needs no lock.
  Status open(MessageHandler& handler, UcxContext const& context);
  /// Uses the worker from now on. Without it there are neither connections nor events.
  void begin() noexcept;
  bool is_open() const noexcept { return worker_ != nullptr; }
  /// Closes all endpoints; what is in flight is dropped, and ends with an error.
  void close_endpoints() noexcept;
  /// Closes endpoints and the worker; unsent messages are dropped.
  void close() noexcept;

  std::vector<std::byte> worker_address() const;

  /// Whether a lost connection is reported to the handler; UCX's shared memory cannot do that.
  enum class FailureDetection : std::uint8_t { none, reported };
  /// Creates an endpoint to the worker with this address. Status::unreachable if nobody listens there;
  /// another failure is logged.
  Status connect(std::span<std::byte const> worker_address, FailureDetection detection, ucp_ep_h* endpoint);
  /// Closes an endpoint at once, with everything in flight. An endpoint without failure detection is not used
  /// any more, and is closed with the worker. Not from UCX callbacks.
  void disconnect(ucp_ep_h endpoint) noexcept;
  /// Closes an endpoint that neither side uses any more, once sent messages are on their way. Not from UCX
  /// callbacks.
  void flush_and_close(ucp_ep_h endpoint);
  std::size_t endpoints() const noexcept { return endpoints_.size(); }

  /// The connections whose messages, except for handshakes, are encrypted.
  Seals& seals() noexcept { return seals_; }
  /// Whether messages to the endpoint are encrypted: these need the payload in their own buffer, so
  /// Message::borrow must not be used.
  bool is_sealed(ucp_ep_h endpoint) noexcept {
    return !seals_.empty() && seals_.sealer_of(endpoint) != nullptr;
  }
  /// Number of dropped encrypted messages, and of plaintext messages that should have been encrypted.
  std::uint64_t dropped() const noexcept { return drops_.count(); }

  /// Returns a message with a payload of this size.
  Message& message(std::size_t payload_bytes = 0);
  /// Sends the message, encrypted if the endpoint requires it, and releases it. On failure the connection is
  /// lost and the handler has been called.
  Status send(ucp_ep_h endpoint, wire::MessageClass kind, Message& message);
  /// Releases a message without sending it.
  void discard(Message& message) noexcept { recycle(message); }
  /// Frees the messages that are kept for reuse, also those that endpoints being closed return later.
  void free_kept_memory() noexcept {
    free_.clear();
    frees_kept_memory_ = !closing_.empty();
  }

  /// Number of messages that UCX has accepted but not sent. They need progress(), which no event requests.
  std::size_t unsent() const noexcept { return unsent_; }
  /// Number of copied payload bytes in the unsent messages.
  std::size_t unsent_bytes() const noexcept { return unsent_bytes_; }

  bool has_unsent(ucp_ep_h endpoint) const noexcept;

  int progress() noexcept;
  /// Whether the worker must be driven after an endpoint was closed: if that was the last endpoint of an
  /// interface, UCX reports later arrivals there as events only after some more progress.
  bool needs_more_progress() const noexcept { return progress_left_ != 0; }

  /// Makes event_fd() readable at the next event. Returns false if there are events already; call progress
  /// first.
  bool arm() noexcept { return !needs_more_progress() && (!is_open() || ucp_worker_arm(worker_) == UCS_OK); }
  /// -1 before begin(). Any thread: relaxed, because the agent is woken after begin().
  int event_fd() const noexcept { return event_fd_.load(std::memory_order_relaxed); }

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
  /// A close that drops unsent messages, or one that waits for the other side.
  enum class Close : std::uint8_t { forced, ordered };
  void start_closing(ucp_ep_h endpoint, Close close) noexcept;
  void keep_progressing() noexcept { progress_left_ = 2; }  // two calls of progress() without events
  void close_flushed() noexcept;
  /// Makes progress until all endpoints being closed are closed, for a limited time.
  void progress_until_closed() noexcept;
  void abandon_unsent(ucp_ep_h endpoint);
  static void on_error(void* self, ucp_ep_h endpoint, ucs_status_t status);
  static void on_sent(void* request, ucs_status_t status, void* argument);
  template <wire::MessageClass kind>
  static ucs_status_t on_message(void* self, void const* header, std::size_t header_bytes, void* data,
                                 std::size_t bytes, ucp_am_recv_param_t const* param);
  static ucs_status_t on_disconnect(void* self, void const* header, std::size_t header_bytes, void* data,
                                    std::size_t bytes, ucp_am_recv_param_t const* param);

  // Messages beyond this number are freed instead of recycled.
  static constexpr std::size_t kept_messages = 256;

  static ucs_status_t on_sealed(void* self, void const* header, std::size_t header_bytes, void* data,
                                std::size_t bytes, ucp_am_recv_param_t const* param);

  MessageHandler* handler_ = nullptr;
  Log const& log_;
  Drops drops_;
  bool only_sealed_;
  Seals seals_;
  std::vector<std::byte> opened_;  ///< payload of the sealed message being handled
  ucp_worker_h created_ = nullptr;
  int created_fd_ = -1;
  ucp_worker_h worker_ = nullptr;  ///< `created_` from begin() on
  std::atomic<int> event_fd_{-1};
  std::unordered_map<ucp_ep_h, bool> endpoints_;  ///< value: whether it detects failures
  std::vector<ucs_status_ptr_t> closing_;         ///< closing endpoints, until UCX has finished
  struct FlushingEndpoint {
    ucp_ep_h endpoint;
    ucs_status_ptr_t flush;
  };
  std::vector<FlushingEndpoint> flushing_;  ///< of flush_and_close(): force-closed after the flush
  std::vector<std::unique_ptr<Message>> free_;
  std::vector<std::unique_ptr<Message>> abandoned_;  ///< that UCX keeps until the worker is destroyed
  bool frees_kept_memory_ = false;                   ///< until `closing_` is empty
  int progress_left_ = 0;                            ///< calls of progress() without events to be made
  Message* unsent_messages_ = nullptr;
  std::size_t unsent_ = 0;
  std::size_t unsent_bytes_ = 0;
};

}  // namespace mpixrma::engine
