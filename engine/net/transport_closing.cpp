/// Transport: the end of endpoints and of the worker.
#include <utility>

#include "engine/net/transport.hpp"

namespace mpixrma::engine {

namespace {

// Gives UCX time to send before the rest is abandoned.
constexpr int sending_turns = 10000;

}  // namespace

void Transport::close_endpoints() noexcept {
  for (auto const& [endpoint, detects_failure] : endpoints_) {
    if (detects_failure) start_closing(endpoint, Close::forced);
  }
  endpoints_.clear();
  // The other process may have ended, so that a flush never completes.
  progress_until_closed();
  for (auto const& [endpoint, flush] : std::exchange(flushing_, {})) {
    ucp_request_free(flush);
    start_closing(endpoint, Close::forced);
  }
  progress_until_closed();
}

void Transport::close() noexcept {
  if (created_ == nullptr) return;
  close_endpoints();
  // UCX completes the rest when it destroys the worker, and aborts if it may not free the requests then.
  for (ucs_status_ptr_t const request : std::exchange(closing_, {})) ucp_request_free(request);
  ucp_worker_destroy(created_);
  worker_ = created_ = nullptr;
  abandoned_.clear();
}

void Transport::progress_until_closed() noexcept {
  for (int turn = 0; turn < sending_turns && (!closing_.empty() || !flushing_.empty()); ++turn)
    (void)progress();
}

void Transport::disconnect(ucp_ep_h endpoint) noexcept {
  bool const detects_failure = endpoints_.at(endpoint);
  endpoints_.erase(endpoint);
  seals_.forget(endpoint);
  // UCX refuses to force-close an endpoint without failure detection, and an ordered close keeps it because
  // the other side has connected to it. It stays, with two attached segments, until the worker is destroyed.
  detects_failure ? start_closing(endpoint, Close::forced) : abandon_unsent(endpoint);
}

/// UCX keeps an endpoint that the other side has connected to unless the close is forced, and refuses to
/// force it without failure detection. A forced close drops unsent messages, such as the reply that permits
/// this close.
void Transport::flush_and_close(ucp_ep_h endpoint) {
  bool const detects_failure = endpoints_.at(endpoint);
  endpoints_.erase(endpoint);
  seals_.forget(endpoint);
  if (!detects_failure) return start_closing(endpoint, Close::ordered);
  ucp_request_param_t const param{};
  ucs_status_ptr_t const flush = ucp_ep_flush_nbx(endpoint, &param);
  if (UCS_PTR_IS_PTR(flush)) {
    flushing_.push_back({endpoint, flush});
  } else {
    start_closing(endpoint, Close::forced);
  }
}

void Transport::close_flushed() noexcept {
  std::erase_if(flushing_, [this](FlushingEndpoint const& closing) {
    if (ucp_request_check_status(closing.flush) == UCS_INPROGRESS) return false;
    ucp_request_free(closing.flush);
    start_closing(closing.endpoint, Close::forced);
    return true;
  });
}

void Transport::start_closing(ucp_ep_h endpoint, Close close) noexcept {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = close == Close::forced ? UCP_EP_CLOSE_FLAG_FORCE : 0;
  ucs_status_ptr_t const request = ucp_ep_close_nbx(endpoint, &param);
  keep_progressing();
  if (UCS_PTR_IS_PTR(request)) closing_.push_back(request);
}

bool Transport::has_unsent(ucp_ep_h endpoint) const noexcept {
  for (Message const* message = unsent_messages_; message != nullptr; message = message->next_) {
    if (message->endpoint_ == endpoint) return true;
  }
  return false;
}

/// UCX keeps messages that the other side does not accept any more; their senders must not wait for them.
void Transport::abandon_unsent(ucp_ep_h endpoint) {
  // Messages that still find room in the other side's queue are copied there. UCX does not access the rest
  // afterwards.
  for (int turn = 0; turn < sending_turns && has_unsent(endpoint); ++turn) (void)ucp_worker_progress(worker_);
  for (Message *message = unsent_messages_, *next = nullptr; message != nullptr; message = next) {
    next = message->next_;
    if (message->endpoint_ != endpoint) continue;
    note_sent(*message);
    message->owner_ = nullptr;
    if (message->sent != nullptr) message->sent(message->sent_argument);
    abandoned_.emplace_back(message);
  }
}

}  // namespace mpixrma::engine
