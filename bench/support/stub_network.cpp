#include "bench/support/stub_network.hpp"

#include <sys/eventfd.h>
#include <sys/mman.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <utility>

#include "engine/net/address.hpp"
#include "engine/net/batch.hpp"

namespace {

namespace wire = mpixrma::engine::wire;

constexpr std::size_t worker_address_bytes = 200;
constexpr mpixrma::engine::Secret secret{};

/// A simulated process as a target.
struct Target {
  std::uint64_t token;  ///< of replies to the engine, or of the origin's disconnect messages
  std::uint64_t executed;
  std::uint64_t done;
  bool acknowledgement_due;
  std::uint64_t handshakes;  ///< handshakes to the engine so far
  std::uint64_t closed;      ///< connections closed so far
  bool is_disconnected;      ///< the engine has closed the connection
};

struct Handler {
  ucp_am_recv_callback_t callback = nullptr;
  void* argument = nullptr;
};

struct Inbound {
  wire::MessageClass kind;
  std::vector<std::byte> header;
  std::vector<std::byte> payload;
};

Handler handlers[32];
Target* targets = nullptr;
std::uint32_t* unacknowledged = nullptr;
std::size_t unacknowledged_count = 0;
std::deque<Inbound> inbound;
int event = -1;

template <typename Type>
Type* outside_of_the_heap(std::size_t count) {
  return static_cast<Type*>(::mmap(nullptr, count * sizeof(Type), PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

std::uint32_t number_of(ucp_ep_h endpoint) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(endpoint) / 64 - 1);
}

template <typename Header>
std::vector<std::byte> bytes_of(Header const& header) {
  auto const* const begin = reinterpret_cast<std::byte const*>(&header);
  return {begin, begin + sizeof header};
}

void deliver(wire::MessageClass kind, void const* header, std::size_t bytes, void* payload,
             std::size_t length) {
  Handler const& handler = handlers[static_cast<unsigned>(kind)];
  ucp_am_recv_param_t const param{};
  (void)handler.callback(handler.argument, header, bytes, payload, length, &param);
}

void take(std::uint32_t number, wire::RequestHeader const& header, std::span<std::byte const> payload) {
  Target& target = targets[number];
  if (header.sequence == 0) {
    mpixrma::engine::Handshake handshake;
    if (!mpixrma::engine::read_handshake(secret, payload, &handshake)) std::abort();
    target.token = mpixrma::engine::tokens_of(secret, handshake.opening).reply;
    return;
  }
  target.executed = std::max(target.executed, header.sequence);
  target.done += wire::cost_of(header, payload.size());
  if (!std::exchange(target.acknowledgement_due, true)) unacknowledged[unacknowledged_count++] = number;
}

void acknowledge(std::uint32_t number) {
  Target& target = targets[number];
  target.acknowledgement_due = false;
  auto reply = wire::begin_header<wire::ReplyHeader>(wire::ReplyKind::executed);
  reply.session = target.token;
  reply.executed = target.executed;
  reply.processed_cost = target.done;
  reply.credit = wire::initial_credit;
  deliver(wire::MessageClass::reply, &reply, sizeof reply, nullptr, 0);
}

void accept_disconnect(std::uint32_t number, wire::DisconnectHeader const& asked) {
  auto reply = wire::begin_header<wire::DisconnectHeader>(wire::Disconnect::accept);
  reply.session = targets[number].token;
  reply.connection = asked.connection;
  if (asked.kind != wire::Disconnect::request) return;
  ++targets[number].closed;
  targets[number].is_disconnected = true;
  inbound.push_back({wire::MessageClass::disconnect, bytes_of(reply), {}});
}

mpixrma::engine::ProcessAddress address_of(std::uint32_t number) {
  mpixrma::engine::ProcessAddress address;
  address.process = bench::first_process + number;
  address.incarnation = 1;
  std::strncpy(address.host.boot_id.data(), "another host", address.host.boot_id.size() - 1);
  address.pid = 1;
  std::vector<std::byte>& worker = address.workers.emplace_back(worker_address_bytes);
  std::memcpy(worker.data(), &number, sizeof number);
  return address;
}

}  // namespace

namespace bench {

std::vector<std::byte> made_up_publication(std::uint32_t number) {
  return mpixrma::engine::publish(address_of(number), secret);
}

std::vector<std::byte> made_up_handshake(std::uint32_t number, std::span<std::byte const> target,
                                         mpixrma::engine::SessionTokens* tokens) {
  mpixrma::engine::ProcessAddress address;
  mpixrma::engine::Secret target_secret{};
  if (!mpixrma::engine::read_published(target, &address, &target_secret)) std::abort();
  mpixrma::engine::SessionOpening const opening{
      first_process + number,     1, address.process, ++targets[number].handshakes,
      targets[number].closed + 1, {}};
  *tokens = mpixrma::engine::tokens_of(target_secret, opening);
  targets[number].token = tokens->request;  // the session's token in disconnect messages
  targets[number].is_disconnected = false;
  return mpixrma::engine::make_handshake(target_secret, opening, mpixrma::engine::encode(address_of(number)));
}

void open_stub_network(std::size_t processes) {
  targets = outside_of_the_heap<Target>(processes);
  unacknowledged = outside_of_the_heap<std::uint32_t>(processes);
}

void send_to_engine(wire::RequestHeader const& header, std::vector<std::byte> payload) {
  inbound.push_back({wire::MessageClass::request, bytes_of(header), std::move(payload)});
}

bool is_disconnected(std::uint32_t number) { return targets[number].is_disconnected; }

std::size_t pending_in_stub_network() { return unacknowledged_count + inbound.size(); }

}  // namespace bench

// The replaced functions of UCX.
extern "C" {

ucs_status_t ucp_worker_create(ucp_context_h, ucp_worker_params_t const*, ucp_worker_h* worker) {
  *worker = reinterpret_cast<ucp_worker_h>(handlers);
  event = ::eventfd(0, EFD_CLOEXEC);
  return UCS_OK;
}
void ucp_worker_destroy(ucp_worker_h) { ::close(event); }
ucs_status_t ucp_worker_get_efd(ucp_worker_h, int* descriptor) {
  *descriptor = event;
  return UCS_OK;
}
ucs_status_t ucp_worker_arm(ucp_worker_h) { return UCS_OK; }
ucs_status_t ucp_worker_get_address(ucp_worker_h, ucp_address_t** address, size_t* length) {
  static std::byte own[worker_address_bytes];
  *address = reinterpret_cast<ucp_address_t*>(own);
  *length = sizeof own;
  return UCS_OK;
}
void ucp_worker_release_address(ucp_worker_h, ucp_address_t*) {}
ucs_status_t ucp_worker_set_am_recv_handler(ucp_worker_h, ucp_am_handler_param_t const* param) {
  handlers[param->id] = {param->cb, param->arg};
  return UCS_OK;
}

unsigned ucp_worker_progress(ucp_worker_h) {
  unsigned events = 0;
  for (; unacknowledged_count != 0; ++events) acknowledge(unacknowledged[--unacknowledged_count]);
  for (; !inbound.empty(); ++events) {
    Inbound message = std::move(inbound.front());
    inbound.pop_front();
    deliver(message.kind, message.header.data(), message.header.size(), message.payload.data(),
            message.payload.size());
  }
  return events;
}

ucs_status_t ucp_ep_create(ucp_worker_h, ucp_ep_params_t const* params, ucp_ep_h* endpoint) {
  std::uint32_t number = 0;
  std::memcpy(&number, params->address, sizeof number);
  *endpoint = reinterpret_cast<ucp_ep_h>((std::uintptr_t{number} + 1) * 64);
  return UCS_OK;
}
ucs_status_ptr_t ucp_ep_close_nbx(ucp_ep_h, ucp_request_param_t const*) { return nullptr; }
ucs_status_ptr_t ucp_ep_flush_nbx(ucp_ep_h, ucp_request_param_t const*) { return nullptr; }

ucs_status_ptr_t ucp_am_send_nbx(ucp_ep_h endpoint, unsigned id, void const* header, size_t,
                                 void const* payload, size_t payload_bytes, ucp_request_param_t const*) {
  std::uint32_t const number = number_of(endpoint);
  if (id == static_cast<unsigned>(wire::MessageClass::request)) {
    wire::RequestHeader request;
    std::memcpy(&request, header, sizeof request);
    take(number, request, {static_cast<std::byte const*>(payload), payload_bytes});
  } else if (id == static_cast<unsigned>(wire::MessageClass::request_batch)) {
    wire::BatchHeader batch;
    std::memcpy(&batch, header, sizeof batch);
    wire::BatchReader<wire::RequestHeader> reader(batch.session,
                                                  {static_cast<std::byte const*>(payload), payload_bytes});
    wire::RequestHeader request;
    std::span<std::byte const> data;
    while (reader.next(&request, &data)) take(number, request, data);
  } else if (id == static_cast<unsigned>(wire::MessageClass::disconnect)) {
    wire::DisconnectHeader disconnect;
    std::memcpy(&disconnect, header, sizeof disconnect);
    accept_disconnect(number, disconnect);
  }
  return nullptr;
}
}
