#include "engine/net/transport.hpp"

#include <cstring>
#include <new>
#include <utility>

namespace mpixrma::engine {

namespace {

// A recycled message frees a buffer that is larger than this.
constexpr std::size_t kept_capacity = 256 * 1024;

/// Whether the request is a handshake, from which the keys of the connection derive.
bool is_handshake(wire::MessageClass kind, std::span<std::byte const> header) noexcept {
  wire::RequestHeader request{};
  if (kind != wire::MessageClass::request || header.size() != sizeof request) return false;
  std::memcpy(&request, header.data(), sizeof request);
  return request.kind == wire::RequestKind::handshake;
}

}  // namespace

std::byte* Message::payload(std::size_t bytes) {
  if (bytes > capacity_) {
    std::size_t const capacity = bytes < 512 ? 512 : bytes;
    storage_ = std::make_unique_for_overwrite<std::byte[]>(capacity);
    capacity_ = capacity;
  }
  payload_ = storage_.get();
  payload_bytes_ = bytes;
  return storage_.get();
}

void Message::charge(std::shared_ptr<MessageAccount> account) noexcept {
  constexpr std::size_t request_of_ucx = 512;
  account_ = std::move(account);
  charged_bytes_ = sizeof(Message) + request_of_ucx + capacity_;
  account_->bytes += charged_bytes_;
  if (account_->all != nullptr) account_->all->bytes += charged_bytes_;
}

void Message::discharge() noexcept {
  account_->bytes -= charged_bytes_;
  if (account_->all != nullptr) account_->all->bytes -= charged_bytes_;
  account_.reset();
}

Transport::~Transport() { close(); }

bool Transport::ok(ucs_status_t status, char const* what) const noexcept {
  if (status == UCS_OK) return true;
  log_.write(LogLevel::error, "%s failed: %s", what, ucs_status_string(status));
  return false;
}

Status Transport::open(MessageHandler& handler, UcxContext const& context) {
  handler_ = &handler;
  Status status = create_worker(context);
  if (failed(status)) close();
  return status;
}

Status Transport::create_worker(UcxContext const& context) {
  ucp_worker_params_t params{};
  params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  params.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // the channel's lock serialises
  if (!ok(ucp_worker_create(context.get(), &params, &created_), "ucp_worker_create")) {
    created_ = nullptr;
    return Status::transport;
  }
  if (!ok(ucp_worker_get_efd(created_, &created_fd_), "ucp_worker_get_efd")) return Status::transport;
  using enum wire::MessageClass;
  Status status = Status::ok;
  auto const receive = [&](wire::MessageClass kind, ucp_am_recv_callback_t callback) {
    if (!failed(status)) status = install(kind, callback);
  };
  receive(request, &Transport::on_message<request>);
  receive(reply, &Transport::on_message<reply>);
  receive(request_batch, &Transport::on_message<request_batch>);
  receive(reply_batch, &Transport::on_message<reply_batch>);
  receive(disconnect, &Transport::on_disconnect);
  receive(sealed, &Transport::on_sealed);
  return status;
}

Status Transport::install(wire::MessageClass kind, ucp_am_recv_callback_t callback) {
  ucp_am_handler_param_t param{};
  param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS |
                     UCP_AM_HANDLER_PARAM_FIELD_CB | UCP_AM_HANDLER_PARAM_FIELD_ARG;
  param.id = static_cast<unsigned>(kind);
  param.flags = UCP_AM_FLAG_WHOLE_MSG;
  param.cb = callback;
  param.arg = this;
  return ok(ucp_worker_set_am_recv_handler(created_, &param), "ucp_worker_set_am_recv_handler")
             ? Status::ok
             : Status::transport;
}

void Transport::begin() noexcept {
  worker_ = created_;
  event_fd_.store(created_fd_, std::memory_order_relaxed);
}

int Transport::progress() noexcept {
  if (!is_open()) return 0;
  int const events = static_cast<int>(ucp_worker_progress(worker_));
  if (progress_left_ != 0 && events == 0) --progress_left_;
  // UCX may have endpoints that this process has not created yet or has closed.
  if (events != 0 && endpoints_.empty()) keep_progressing();
  if (!flushing_.empty()) close_flushed();
  if (!closing_.empty()) {
    std::erase_if(closing_, [this](ucs_status_ptr_t request) {
      if (ucp_request_check_status(request) == UCS_INPROGRESS) return false;
      ucp_request_free(request);
      keep_progressing();
      return true;
    });
    if (frees_kept_memory_) free_kept_memory();
  }
  return events;
}

std::vector<std::byte> Transport::worker_address() const {
  ucp_address_t* address = nullptr;
  std::size_t length = 0;
  if (!ok(ucp_worker_get_address(created_, &address, &length), "ucp_worker_get_address")) return {};
  auto const* const begin = reinterpret_cast<std::byte const*>(address);
  std::vector<std::byte> copy(begin, begin + length);
  ucp_worker_release_address(created_, address);
  return copy;
}

Status Transport::connect(std::span<std::byte const> worker_address, FailureDetection detection,
                          ucp_ep_h* endpoint) {
  bool const detects_failure = detection == FailureDetection::reported;
  ucp_ep_params_t params{};
  params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLER |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
  params.address = reinterpret_cast<ucp_address_t const*>(worker_address.data());
  params.err_mode = detects_failure ? UCP_ERR_HANDLING_MODE_PEER : UCP_ERR_HANDLING_MODE_NONE;
  params.err_handler.cb = &Transport::on_error;
  params.err_handler.arg = this;
  ucs_status_t const status = ucp_ep_create(worker_, &params, endpoint);
  if (status == UCS_ERR_UNREACHABLE) return Status::unreachable;
  if (!ok(status, "ucp_ep_create")) return Status::transport;
  endpoints_.emplace(*endpoint, detects_failure);
  return Status::ok;
}

Message& Transport::message(std::size_t payload_bytes) {
  std::unique_ptr<Message> message;
  if (free_.empty()) {
    message = std::make_unique<Message>();
    message->owner_ = this;
  } else {
    message = std::move(free_.back());
    free_.pop_back();
  }
  message->payload_bytes_ = 0;
  message->payload_ = nullptr;
  message->sent = nullptr;
  if (payload_bytes != 0) (void)message->payload(payload_bytes);
  return *message.release();  // recycle() frees it
}

void Transport::recycle(Message& message) noexcept {
  std::unique_ptr<Message> owned(&message);
  if (message.account_ != nullptr) [[unlikely]]
    message.discharge();
  if (message.sent != nullptr) message.sent(message.sent_argument);
  if (message.capacity_ > kept_capacity) {
    message.storage_.reset();
    message.capacity_ = 0;
  }
  if (free_.size() < kept_messages) free_.push_back(std::move(owned));
}

Status Transport::send(ucp_ep_h endpoint, wire::MessageClass kind, Message& message) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_FLAGS;
  param.cb.send = &Transport::on_sent;
  param.user_data = &message;
  // Always eager: a rendezvous would need another message from an application thread or the agent.
  param.flags = UCP_AM_SEND_FLAG_EAGER;
  if (!seals_.empty()) [[unlikely]]
    kind = seal(endpoint, kind, message);
  note_unsent(message, endpoint);
  ucs_status_ptr_t const request =
      ucp_am_send_nbx(endpoint, static_cast<unsigned>(kind), message.header_.data(), message.header_bytes_,
                      message.payload_, message.payload_bytes_, &param);
  if (UCS_PTR_IS_PTR(request)) return Status::ok;  // on_sent releases it
  take_back(message);
  if (request == nullptr) return Status::ok;
  handler_->on_lost(endpoint, ucs_status_string(UCS_PTR_STATUS(request)));
  return Status::transport;
}

void Transport::note_unsent(Message& message, ucp_ep_h endpoint) noexcept {
  ++unsent_;
  unsent_bytes_ += message.copied_bytes();
  message.endpoint_ = endpoint;
  message.previous_ = nullptr;
  message.next_ = unsent_messages_;
  if (unsent_messages_ != nullptr) unsent_messages_->previous_ = &message;
  unsent_messages_ = &message;
}

void Transport::note_sent(Message& message) noexcept {
  --unsent_;
  unsent_bytes_ -= message.copied_bytes();
  (message.previous_ != nullptr ? message.previous_->next_ : unsent_messages_) = message.next_;
  if (message.next_ != nullptr) message.next_->previous_ = message.previous_;
}

/// Encrypts the message. Returns the class of the resulting message.
wire::MessageClass Transport::seal(ucp_ep_h endpoint, wire::MessageClass kind, Message& message) noexcept {
  std::span<std::byte> const header = std::span(message.header_).first(message.header_bytes_);
  Sealer* const sealer = seals_.sealer_of(endpoint);
  if (sealer == nullptr || is_handshake(kind, header)) return kind;
  // A payload outside of the message's own buffer cannot be encrypted in place and is omitted.
  if (message.payload_ != message.storage_.get()) message.payload_bytes_ = 0;
  message.header_bytes_ =
      sealer->seal(kind, header, {message.storage_.get(), message.copied_bytes()}, message.header_);
  return wire::MessageClass::sealed;
}

/// Passes the inner message on, once it has proved to be authentic and in order.
void Transport::open_sealed(std::span<std::byte const> header, std::span<std::byte const> payload) noexcept {
  Seals::Connection* const connection = seals_.find(wire::sealed_connection_of(header));
  if (connection == nullptr) return drops_.record_drop("it does not belong to a connection");
  if (connection->refused) return;
  std::uint64_t const process = connection->process;
  auto const refuse = [&](char const* reason) {
    connection->refused = true;
    drops_.record_drop(reason);
    handler_->on_rejected(process, reason);
  };
  OpenedMessage opened;
  try {
    switch (connection->opener.open(header, payload, &opened_, &opened)) {
      case Opener::Verdict::opened: break;
      case Opener::Verdict::repeated: return drops_.record_drop("it was received before");
      case Opener::Verdict::out_of_order: return refuse("an encrypted message is missing, or out of order");
      case Opener::Verdict::forged: return refuse("an encrypted message was modified in transit");
    }
  } catch (std::bad_alloc const&) {
    return refuse("no memory for an encrypted message");
  }
  std::span<std::byte const> const inner = std::span(opened.header).first(opened.header_bytes);
  if (opened.message_class == wire::MessageClass::disconnect) return handler_->on_disconnect(inner);
  handler_->on_message(opened.message_class, inner, std::span(opened_).first(payload.size()));
  if (opened_.size() > kept_capacity) opened_ = {};
}

/// Called when UCX has released the message.
void Transport::take_back(Message& message) noexcept {
  note_sent(message);
  recycle(message);
}

void Transport::on_error(void* self, ucp_ep_h endpoint, ucs_status_t status) {
  auto& transport = *static_cast<Transport*>(self);
  transport.keep_progressing();
  transport.handler_->on_lost(endpoint, ucs_status_string(status));
}

void Transport::on_sent(void* request, ucs_status_t status, void* argument) {
  auto& message = *static_cast<Message*>(argument);
  if (message.owner_ != nullptr) {
    if (status != UCS_OK)  // the endpoint's error handler is called too
      message.owner_->log_.write(LogLevel::life, "a message could not be sent: %s",
                                 ucs_status_string(status));
    message.owner_->take_back(message);
  }
  ucp_request_free(request);
}

template <wire::MessageClass kind>
ucs_status_t Transport::on_message(void* self, void const* header, std::size_t header_bytes, void* data,
                                   std::size_t bytes, ucp_am_recv_param_t const* param) {
  auto& transport = *static_cast<Transport*>(self);
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
    transport.log_.write(LogLevel::error, "dropped a message that was not sent by this library");
    return UCS_OK;
  }
  std::span<std::byte const> const text{static_cast<std::byte const*>(header), header_bytes};
  if (transport.only_sealed_ && !is_handshake(kind, text)) {
    transport.drops_.record_drop("it is not encrypted");
    return UCS_OK;
  }
  transport.handler_->on_message(kind, text, {static_cast<std::byte const*>(data), bytes});
  return UCS_OK;
}

ucs_status_t Transport::on_disconnect(void* self, void const* header, std::size_t header_bytes, void*,
                                      std::size_t, ucp_am_recv_param_t const*) {
  auto& transport = *static_cast<Transport*>(self);
  if (transport.only_sealed_) {
    transport.drops_.record_drop("it is not encrypted");
  } else {
    transport.handler_->on_disconnect({static_cast<std::byte const*>(header), header_bytes});
  }
  return UCS_OK;
}

ucs_status_t Transport::on_sealed(void* self, void const* header, std::size_t header_bytes, void* data,
                                  std::size_t bytes, ucp_am_recv_param_t const* param) {
  auto& transport = *static_cast<Transport*>(self);
  if ((param->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0) {
    transport.drops_.record_drop("it was not sent by this library");
    return UCS_OK;
  }
  transport.open_sealed({static_cast<std::byte const*>(header), header_bytes},
                        {static_cast<std::byte const*>(data), bytes});
  return UCS_OK;
}

}  // namespace mpixrma::engine
