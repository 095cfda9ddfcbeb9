/// MessageProtocol: the processing of replies and completion of operations.
#include <algorithm>
#include <cstring>
#include <new>

#include "engine/net/joined.hpp"
#include "engine/origin/peer_state.hpp"
#include "engine/proto/message.hpp"

namespace mpixrma::engine {

namespace {

LateError late_error_of(Outstanding const& entry) noexcept {
  wire::RequestHeader const& header = entry.operation.header;
  return {entry.status,
          wire::operation_kind(header),
          {header.address, header.total, entry.operation.target.is_contiguous(),
           static_cast<ExposureId>(header.exposure)}};
}

}  // namespace

void MessageProtocol::on_message(wire::MessageClass kind, std::span<std::byte const> bytes,
                                 std::span<std::byte const> payload) noexcept {
  bool const joined = kind == wire::MessageClass::replies;
  try {
    joined ? take_joined(bytes, payload) : take(bytes, payload);
  } catch (std::bad_alloc const&) {
    drops_.note("no memory to take it");
    wire::ReplyHeader header{};
    bool const sound = !joined && wire::check(bytes, payload, &header) == nullptr;
    std::uint64_t const session = joined ? wire::joined_session_of(bytes) : sound ? header.session : 0;
    if (auto const found = sessions_.find(session); found != sessions_.end())
      connections_.lose(found->second->process(), "no memory for its replies");
  }
}

void MessageProtocol::take(std::span<std::byte const> bytes, std::span<std::byte const> payload) {
  wire::ReplyHeader header{};
  if (char const* const fault = wire::check(bytes, payload, &header)) return drops_.note(fault);
  auto const found = sessions_.find(header.session);
  if (found == sessions_.end()) return drops_.note("it does not belong to a session");
  if (found->second->state().messages.broken) return;
  if (char const* const fault = take_reply(*found->second, header, payload)) drops_.note(fault);
  settle(*found->second);
}

/// Each reply is handled as if it had come alone; completed operations are finished after all replies.
void MessageProtocol::take_joined(std::span<std::byte const> bytes, std::span<std::byte const> records) {
  wire::JoinedHeader joined{};
  if (char const* const fault = wire::check(bytes, &joined)) return drops_.note(fault);
  auto const found = sessions_.find(joined.session);
  if (found == sessions_.end()) return drops_.note("it does not belong to a session");
  if (found->second->state().messages.broken) return;
  wire::JoinedReader<wire::ReplyHeader> reader(joined.session, records);
  wire::ReplyHeader said{};
  std::span<std::byte const> payload;
  while (reader.next(&said, &payload)) {
    wire::ReplyHeader header{};
    char const* fault = wire::check(std::as_bytes(std::span(&said, 1)), payload, &header);
    if (fault == nullptr) fault = take_reply(*found->second, header, payload);
    if (fault != nullptr) drops_.note(fault);
  }
  if (reader.is_malformed()) drops_.note("a truncated batch");
  settle(*found->second);
}

/// Returns the error of the reply, or nullptr.
char const* MessageProtocol::take_reply(Peer& peer, wire::ReplyHeader const& header,
                                        std::span<std::byte const> payload) {
  MessageStream& stream = peer.state().messages;
  bool const are_sent = header.executed <= stream.newest_sent || header.executed <= newest_ahead(peer);
  auto const limit = std::min<std::uint64_t>(header.credit, settings_.credit_bytes);
  if (!are_sent || !stream.credit.settle(header.done, limit))
    return "acknowledges messages that were not sent";
  locks_.clock().raise(header.lock_clock);
  if (header.executed > stream.executed.load(std::memory_order_relaxed)) {
    stream.executed.store(header.executed, std::memory_order_release);
  }
  if (NetworkState* const network = peer.state().network_if_any())
    network->see_version(header.segments_version);
  switch (header.kind) {
    case wire::ReplyKind::data:
    case wire::ReplyKind::segment:
      if (Outstanding* const entry = pool_.find(header.token); entry != nullptr && entry->peer == &peer) {
        take_data(*entry, header, payload);
      } else {
        return "data for an operation that does not exist";
      }
      break;
    case wire::ReplyKind::failed: take_failure(peer, header, payload); break;
    case wire::ReplyKind::revoke: revocations_.push_back({&peer, header.token, header.offset}); break;
    case wire::ReplyKind::granted:
    case wire::ReplyKind::busy: take_grant(peer, header); break;
    case wire::ReplyKind::executed:
      if (Outstanding* const entry = pool_.find(header.token); entry != nullptr && entry->peer == &peer)
        entry->executed = entry->sent_completely();
      break;
  }
  return nullptr;
}

void MessageProtocol::take_data(Outstanding& entry, wire::ReplyHeader const& header,
                                std::span<std::byte const> payload) {
  if (entry.is_a(wire::RequestKind::find_segment)) return take_answer(entry, payload);
  MessageOperation const& operation = entry.operation;
  if (!operation.expects_data() || header.offset > operation.total ||
      header.bytes > operation.total - header.offset || header.bytes > operation.total - entry.answered)
    return drops_.note("data for an operation that requested none");
  unpack(operation.sink, operation.sink_layout, header.offset, payload.data(), payload.size());
  entry.answered += payload.size();
}

void MessageProtocol::take_answer(Outstanding& entry, std::span<std::byte const> payload) {
  entry.executed = true;
  wire::SegmentReply answer{};
  if (payload.size() >= sizeof answer) std::memcpy(&answer, payload.data(), sizeof answer);
  bool const sound = payload.size() >= sizeof answer && answer.key_bytes == payload.size() - sizeof answer &&
                     answer.base + answer.length >= answer.base;
  if (!sound) return log_.write(LogLevel::error, "dropped a malformed answer about a segment");
  entry.segment = answer;
  if (learn_) learn_(*entry.peer, answer, payload.subspan(sizeof answer));
}

/// The target holds the stripes of an atomic operation, or could not acquire them while this process holds
/// its own: then these are released until the next attempt.
void MessageProtocol::take_grant(Peer& peer, wire::ReplyHeader const& header) {
  Outstanding* const entry = pool_.find(header.token);
  bool const awaited = entry != nullptr && entry->peer == &peer && entry->operation.until_executed;
  bool const granted = header.kind == wire::ReplyKind::granted;
  if (!awaited || (granted && entry->lock != LockState::asked)) {
    drops_.note("an unsolicited answer about stripes");
  } else if (granted) {
    entry->lock = LockState::granted;
  } else {
    // Gives waiting threads a turn at the released stripes.
    constexpr unsigned longest_pause = 6;
    entry->hold.release();
    refused_.push_back({entry->token, 1u << std::min(entry->refusals++, longest_pause)});
  }
}

void MessageProtocol::retry_refused() {
  std::vector<Peer*> stalled;
  stalled.swap(stalled_);
  for (Peer* const peer : stalled) settle(*peer);
  std::vector<Refused> waiting;
  waiting.swap(refused_);
  for (auto const& [token, pause] : waiting) {
    Outstanding* const entry = pool_.find(token);
    if (entry == nullptr || entry->peer->state().messages.broken) continue;  // lost meanwhile
    if (pause == 0 && entry->hold.acquire()) {
      send_again(*entry);
    } else {
      refused_.push_back({token, pause == 0 ? 0 : pause - 1});
    }
  }
}

/// Resends the rejected message at its old position of the stream.
void MessageProtocol::send_again(Outstanding& entry) {
  if (entry.lock == LockState::asked) return send_lock(entry);
  MessageOperation const& operation = entry.operation;
  Fragment const fragment = fragment_at(operation.target, operation.total, 0, limits_for(operation));
  (void)send_fragment(*entry.peer, operation, fragment, entry.last_sequence, &entry);
}

/// `offset` of a failure is the number of bytes that will not be answered with data.
void MessageProtocol::take_failure(Peer& peer, wire::ReplyHeader const& header,
                                   std::span<std::byte const> payload) {
  auto const status = static_cast<Status>(header.status);
  if (header.token != 0) {
    Outstanding* const entry = pool_.find(header.token);
    if (entry != nullptr && entry->peer == &peer) {
      if (!failed(entry->status)) entry->status = status;
      entry->answered = std::min(entry->operation.total, entry->answered + header.offset);
      return;
    }
    // The operation was already complete for its origin, so later completion calls report the error.
  }
  peer.state().messages.errors.keep(header.context, wire::late_error(status, payload));
}

/// Answers the owners of revoked segments once the keys are no longer in use.
void MessageProtocol::answer_revocations() {
  std::vector<Revocation> asked;
  asked.swap(revocations_);
  for (Revocation const& revocation : asked) {
    MessageStream const& stream = revocation.peer->state().messages;
    // The answer's position in the stream must follow those of unsent operations.
    bool const waits = stream.suspended || stream.unsent != nullptr;
    if (waits || (revoke_ && !revoke_(*revocation.peer, revocation.number, revocation.base))) {
      revocations_.push_back(revocation);
    } else {
      answer_revocation(*revocation.peer, revocation.number);
    }
  }
}

void MessageProtocol::answer_revocation(Peer& peer, std::uint64_t number) {
  if (!connect(peer) || peer.state().messages.broken) return;
  MessageOperation operation;
  operation.header = wire::begin_header<wire::RequestHeader>(wire::RequestKind::forgotten);
  operation.header.token = number;
  (void)send_fragment(peer, operation, Fragment{}, peer.reserve(1), nullptr);
}

/// Finishes the operations that the newest reply has completed, and uses the additional credit.
void MessageProtocol::settle(Peer& peer) {
  MessageStream& stream = peer.state().messages;
  advance(peer);
  // Nothing is in flight any more whose answer would send the batch.
  if (stream.is_joining() && !stream.is_busy()) send_joined(peer);
  std::uint64_t const executed = stream.executed.load(std::memory_order_relaxed);
  // In issue order: entries behind one that is not sent completely cannot be finished.
  for (Outstanding* entry = stream.unfinished.front(); entry != nullptr && entry->sent_completely();) {
    Outstanding* const next = entry->next;
    if (is_finished(*entry, executed)) finish(*entry);
    entry = next;
  }
  if (acquiring_.front() != nullptr) settle_acquiring();
  if (executed >= stream.delayed.newest_undelayed(peer.newest())) stream.forgotten.clear();
  if (std::uint64_t const held = peer.stores_held_by(); held != 0 && finished(peer, held))
    peer.allow_stores(held);
}

void MessageProtocol::settle_acquiring() {
  for (Outstanding* entry = acquiring_.front(); entry != nullptr;) {
    Outstanding* const next = entry->next;
    if (is_finished(*entry, 0)) finish(*entry);
    entry = next;
  }
}

bool MessageProtocol::is_finished(Outstanding const& entry, std::uint64_t executed) const noexcept {
  if (!entry.sent_completely() || entry.sends_in_flight != 0) return false;
  if (failed(entry.status) && entry.status == Status::transport) return true;
  if (entry.operation.expects_data()) return entry.answered == entry.operation.total;
  // A query is finished by its answer: the acknowledgement may come earlier with another reply.
  bool const is_question =
      entry.is_a(wire::RequestKind::find_segment) || entry.is_a(wire::RequestKind::acquire);
  if (is_question || entry.executed) return entry.executed || failed(entry.status);
  return !entry.operation.until_executed || executed >= entry.last_sequence;
}

void MessageProtocol::finish(Outstanding& entry) noexcept {
  Peer& peer = *entry.peer;
  entry.list->remove(entry);
  if (entry.is_a(wire::RequestKind::find_segment)) {
    NetworkState* const network = peer.state().network_if_any();
    if (network == nullptr || network->question != entry.token) {
      entry.live = false;  // the caller reads the answer and releases it
      return;
    }
    network->question = 0;
    return pool_.release(entry);
  }
  Completion* const completion = entry.operation.completion;
  Status const status = entry.status;
  std::size_t const bytes = entry.operation.total;
  std::uint32_t const context = entry.operation.header.context;
  LateError const error = failed(status) ? late_error_of(entry) : LateError{};
  pool_.release(entry);
  if (completion != nullptr) {
    completion->done(*completion, status, bytes);
  } else if (failed(status)) {
    peer.state().messages.errors.keep(context, error);
  }
}

bool MessageProtocol::finished(Peer& peer, std::uint64_t sequence) noexcept {
  MessageStream const& stream = peer.state().messages;
  if (stream.broken) return true;
  if (stream.executed.load(std::memory_order_acquire) < sequence) return false;
  Outstanding const* const oldest = stream.unfinished.front();
  return oldest == nullptr || oldest->last_sequence > sequence;
}

bool MessageProtocol::await(Peer& peer, std::uint64_t sequence) {
  if (finished(peer, sequence)) return true;
  MessageStream const& stream = peer.state().messages;
  bool const acknowledged = sequence <= stream.delayed.newest_undelayed(peer.newest());
  if (acknowledged || failed(reach(peer))) return false;
  // An empty put, whose acknowledgement covers everything before it.
  MessageOperation nothing;
  nothing.header = wire::begin_header<wire::RequestHeader>(wire::RequestKind::put);
  (void)queue(peer, nothing);
  advance(peer);
  return false;
}

bool MessageProtocol::finished_locally(Peer& peer, std::uint64_t sequence) noexcept {
  MessageStream const& stream = peer.state().messages;
  if (stream.broken) return stream.unfinished.front() == nullptr;
  // Starts with the newest one, which is the most likely to be outstanding.
  for (Outstanding const* entry = stream.unfinished.back(); entry != nullptr; entry = entry->previous) {
    if (entry->first_sequence <= sequence && !entry->has_let_go()) return false;
  }
  return true;
}

}  // namespace mpixrma::engine
