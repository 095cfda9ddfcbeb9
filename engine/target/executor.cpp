#include "engine/target/executor.hpp"

#include <cstring>
#include <new>

#include "engine/memory/fault_guard.hpp"
#include "engine/net/batch.hpp"

namespace mpixrma::engine {

Executor::Executor(Parts const& used, Settings const& settings, Log const& log)
    : drops("request", log),
      buffers(origins, settings.buffers),
      replies(used.transport, used.connections, used.segments, used.locks, settings.batch_bytes),
      unsent(used.connections, used.credentials, origins, buffers,
             {settings.buffers.fragment_bytes, settings.replies_bytes}),
      locks(used.locks),
      memory(used.segments,
             used.credentials.exposed_only ? Accessible::exposures : Accessible::whole_process),
      stripes(used.segments),
      queries(used.segments, used.credentials, origins, replies),
      executed_positions(used.connections, buffers, replies),
      execution({buffers, replies, locks, memory, queries, executed_positions, trace},
                settings.buffers.fragment_bytes),
      streams({drops, used.connections, buffers, unsent, memory, stripes, executed_positions, execution}),
      lock_replies({used.connections, origins, replies, locks, executed_positions, streams}),
      batches({drops, origins, replies, unsent, memory, stripes, executed_positions, streams, lock_replies,
               trace}),
      ring({drops, memory, stripes, trace}),
      handshakes(
          {used.transport, used.connections, used.credentials, drops, origins, buffers, replies, unsent},
          settings.session_processes),
      connections_(used.connections) {
  replies.set_check([this](Origin& origin) { unsent.check(origin); });
}

void Executor::on_message(wire::MessageClass kind, std::span<std::byte const> header,
                          std::span<std::byte const> payload) noexcept {
  bool const is_batch = kind == wire::MessageClass::request_batch;
  FaultScope const faults;  // for messages to this process itself, which UCX delivers within the send
  try {
    is_batch ? batches.handle(header, aligned(payload)) : handle(header, aligned(payload));
  } catch (std::bad_alloc const&) {
    drops.record_drop("out of memory");
    std::uint64_t const session = is_batch ? wire::batch_session_of(header) : wire::session_of(header);
    if (Origin const* const origin = origins.of_session(session); origin != nullptr)
      connections_.fail(origin->process, "no memory for its requests");
  }
}

/// Returns the payload at an 8-byte-aligned address, valid until the next message.
std::span<std::byte const> Executor::aligned(std::span<std::byte const> payload) {
  if (reinterpret_cast<std::uintptr_t>(payload.data()) % alignof(std::uint64_t) == 0) return payload;
  aligned_.resize(payload.size() / sizeof(std::uint64_t) + 1);
  std::memcpy(aligned_.data(), payload.data(), payload.size());
  return {reinterpret_cast<std::byte const*>(aligned_.data()), payload.size()};
}

void Executor::handle(std::span<std::byte const> header, std::span<std::byte const> payload) {
  std::uint64_t const session = wire::session_of(header);
  if (Origin* const origin = origins.of_session(session); origin != nullptr) {
    streams.handle(*origin, header, payload);
  } else {
    handshakes.handle(session, header, payload);
  }
}

void Executor::connect_arrived() {
  handshakes.take_arrived([this](ProcessAddress const& address, std::uint64_t connection) {
    Origin* const origin = origins.find(address.process);
    if (origin == nullptr || connection != connections_.number_of(address.process))
      return;  // closed meanwhile
    // Connected: it arrived twice, or memory was missing behind connect().
    if (origin->endpoint != nullptr || handshakes.connect(*origin, address)) {
      streams.execute_waiting(*origin);
    } else {
      connections_.fail_replies(address.process, "no connection for replies to it");
    }
  });
}

void Executor::forget(std::uint64_t process) {
  Origin* const gone = origins.find(process);
  if (gone == nullptr) return origins.note_ended(process);
  replies.forget(gone);
  unsent.forget(gone);
  locks.forget(process);
  streams.forget(*gone);
  queries.forget_process(process);
  buffers.forget(*gone);
  handshakes.remove(*gone);
}

std::vector<std::uint64_t> Executor::end_session(std::uint64_t session) {
  std::vector<std::uint64_t> ended;
  origins.for_each([&](Origin const& origin) {
    if (origin.target == session) ended.push_back(origin.process);
  });
  for (std::uint64_t const process : ended) forget(process);
  return ended;
}

bool Executor::is_idle(std::uint64_t process) const noexcept {
  Origin const* const origin = origins.find(process);
  return (origin == nullptr || origin->is_idle()) && !locks.concern(process);
}

void Executor::forget_connection(std::uint64_t process) noexcept {
  Origin* const origin = origins.find(process);
  if (origin == nullptr) return;
  origin->endpoint = nullptr;
  queries.forget_process(process);
}

}  // namespace mpixrma::engine
