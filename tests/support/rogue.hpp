/// A process that uses the engine's transport, UCX, without implementing the engine's protocol.
#pragma once

#include <ucp/api/ucp.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "engine/net/transport_config.hpp"
#include "engine/net/wire.hpp"

namespace mpixrma::test {

/// A UCX worker with one endpoint, in a process with or without an engine. Counts the received messages.
class Rogue {
 public:
  /// Transports of UCX: all of them, or only TCP over the loopback device, as between hosts.
  enum class Way { any, loopback };

  explicit Rogue(std::span<std::byte const> victim, Way way = Way::any) : way_(way) {
    ucp_config_t* config = nullptr;
    ucp_config_read(nullptr, nullptr, &config);
    if (way == Way::loopback) {
      ucp_config_modify(config, "TLS", "tcp");
      ucp_config_modify(config, "NET_DEVICES", "lo");
      engine::enlarge_tcp_segments(config, 160 * 1024);  // as engines with the usual fragments have them
    }
    ucp_params_t params{};
    params.field_mask = UCP_PARAM_FIELD_FEATURES;
    params.features = UCP_FEATURE_AM | UCP_FEATURE_RMA | UCP_FEATURE_WAKEUP;
    ucp_init(&params, config, &context_);
    ucp_config_release(config);
    ucp_worker_params_t worker_params{};
    ucp_worker_create(context_, &worker_params, &worker_);
    using enum engine::wire::MessageClass;
    for (auto const kind : {request, reply, request_batch, reply_batch, disconnect, sealed}) listen(kind);
    ucp_ep_params_t endpoint_params{};
    endpoint_params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS;
    endpoint_params.address = reinterpret_cast<ucp_address_t const*>(victim.data());
    if (way == Way::loopback) {
      endpoint_params.field_mask |= UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
      endpoint_params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
      endpoint_params.err_handler.cb = [](void* self, ucp_ep_h, ucs_status_t) {
        static_cast<Rogue*>(self)->has_failed_ = true;
      };
      endpoint_params.err_handler.arg = this;
    }
    ucp_ep_create(worker_, &endpoint_params, &endpoint_);
  }
  ~Rogue() {
    if (way_ == Way::loopback) end();
    while (!pending_.empty()) progress();
    if (way_ == Way::any && endpoint_ != nullptr && !unanswered_)
      finish(ucp_ep_close_nb(endpoint_, UCP_EP_CLOSE_MODE_FLUSH));
    ucp_worker_destroy(worker_);
    ucp_cleanup(context_);
  }
  Rogue(Rogue const&) = delete;
  Rogue& operator=(Rogue const&) = delete;

  bool is_connected() const { return endpoint_ != nullptr; }
  std::vector<std::byte> worker_address() const {
    ucp_address_t* address = nullptr;
    std::size_t bytes = 0;
    ucp_worker_get_address(worker_, &address, &bytes);
    auto const* const begin = reinterpret_cast<std::byte const*>(address);
    std::vector<std::byte> copy(begin, begin + bytes);
    ucp_worker_release_address(worker_, address);
    return copy;
  }

  /// Sends copies of header and payload; waits while too many messages are in flight.
  void send(engine::wire::MessageClass kind, std::vector<std::byte> header, std::vector<std::byte> payload,
            unsigned flags) {
    constexpr std::size_t max_pending = 256;
    Pending& pending = pending_.emplace_back(Pending{std::move(header), std::move(payload), nullptr});
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = flags;
    pending.request =
        ucp_am_send_nbx(endpoint_, static_cast<unsigned>(kind), pending.header.data(), pending.header.size(),
                        pending.payload.data(), pending.payload.size(), &param);
    do {
      progress();
    } while (pending_.size() > max_pending);
  }
  /// Sends as much as UCX sends at once. Does not receive.
  void send_only(engine::wire::MessageClass kind, std::vector<std::byte> header) {
    Pending& pending = pending_.emplace_back(Pending{std::move(header), {}, nullptr});
    ucp_request_param_t param{};
    param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
    param.flags = UCP_AM_SEND_FLAG_EAGER;
    pending.request = ucp_am_send_nbx(endpoint_, static_cast<unsigned>(kind), pending.header.data(),
                                      pending.header.size(), nullptr, 0, &param);
    while (!pending_.empty() && is_done(pending_.front().request)) pending_.pop_front();
  }

  /// Puts `value` to `address` by UCX, and drives the worker for the time `duration`.
  void put(std::uint64_t address, std::uint64_t value, std::chrono::milliseconds duration) {
    ucp_mem_map_params_t map{};
    map.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    map.address = &put_value_;
    map.length = sizeof put_value_;
    put_value_ = value;
    ucp_mem_h memory = nullptr;
    void* packed = nullptr;
    std::size_t bytes = 0;
    ucp_rkey_h key = nullptr;
    ucp_mem_map(context_, &map, &memory);
    ucp_rkey_pack(context_, memory, &packed, &bytes);
    ucp_ep_rkey_unpack(endpoint_, packed, &key);
    ucp_request_param_t param{};
    ucs_status_ptr_t const request =
        ucp_put_nbx(endpoint_, &put_value_, sizeof put_value_, address, key, &param);
    auto const end = std::chrono::steady_clock::now() + duration;
    while (std::chrono::steady_clock::now() < end) ucp_worker_progress(worker_);
    (void)is_done(request);
    unanswered_ = true;
    ucp_rkey_destroy(key);
    ucp_rkey_buffer_release(packed);
    ucp_mem_unmap(context_, memory);
  }

  void progress() {
    ucp_worker_progress(worker_);
    while (!pending_.empty() && is_done(pending_.front().request)) pending_.pop_front();
  }
  /// Receives until `predicate` holds, for at most 100 seconds. Returns whether it holds.
  template <typename Predicate>
  bool wait(Predicate predicate) {
    auto const end = std::chrono::steady_clock::now() + std::chrono::seconds(100);
    while (!predicate() && std::chrono::steady_clock::now() < end) {
      progress();
      std::this_thread::yield();
    }
    return predicate();
  }
  /// Number of messages received.
  std::size_t received() const { return received_; }
  /// Whether the other side has closed its end; only with Way::loopback.
  bool has_failed() const { return has_failed_; }

  /// Called with each message that comes back.
  std::function<void(engine::wire::MessageClass, std::span<std::byte const> header,
                     std::span<std::byte const> payload)>
      on_message = [](auto...) {};

 private:
  struct Pending {
    std::vector<std::byte> header;
    std::vector<std::byte> payload;
    ucs_status_ptr_t request;
  };

  struct Listener {
    Rogue* rogue;
    engine::wire::MessageClass kind;
  };
  void listen(engine::wire::MessageClass kind) {
    Listener& listener = listeners_.emplace_back(Listener{this, kind});
    ucp_am_handler_param_t param{};
    param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                       UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
    param.id = static_cast<unsigned>(kind);
    param.flags = UCP_AM_FLAG_WHOLE_MSG;
    param.cb = [](void* argument, void const* header, std::size_t header_bytes, void* data, std::size_t bytes,
                  ucp_am_recv_param_t const*) {
      auto const& self = *static_cast<Listener*>(argument);
      ++self.rogue->received_;
      self.rogue->on_message(self.kind, {static_cast<std::byte const*>(header), header_bytes},
                             {static_cast<std::byte const*>(data), bytes});
      return UCS_OK;
    };
    param.arg = &listener;
    ucp_worker_set_am_recv_handler(worker_, &param);
  }
  /// Closes the endpoint, even if the other side receives nothing. UCX 1.13 aborts the other side if a
  /// connection ends before it is established.
  void end() {
    ucp_request_param_t const param{};
    ucs_status_ptr_t const flush = ucp_ep_flush_nbx(endpoint_, &param);
    // A received message shows that the connection is established.
    auto const until = std::chrono::steady_clock::now() + std::chrono::seconds(received_ == 0 ? 1 : 0);
    bool is_flushed = is_done(flush);
    while (!is_flushed && std::chrono::steady_clock::now() < until) {
      ucp_worker_progress(worker_);
      is_flushed = is_done(flush);
    }
    finish(ucp_ep_close_nb(endpoint_, UCP_EP_CLOSE_MODE_FORCE));
    if (!is_flushed) finish(flush);
  }
  static bool is_done(ucs_status_ptr_t request) {
    if (!UCS_PTR_IS_PTR(request)) return true;
    if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
    ucp_request_free(request);
    return true;
  }
  void finish(ucs_status_ptr_t request) {
    while (!is_done(request)) ucp_worker_progress(worker_);
  }

  Way way_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  ucp_ep_h endpoint_ = nullptr;
  std::uint64_t put_value_ = 0;
  bool unanswered_ = false;  ///< a put, which the other side may never answer
  bool has_failed_ = false;
  std::deque<Listener> listeners_;
  std::deque<Pending> pending_;
  std::size_t received_ = 0;
};

}  // namespace mpixrma::test
