#include "engine/target/lock_replies.hpp"

#include <new>

namespace mpixrma::engine {

void LockReplies::send_due() {
  parts_.locks.poll_holders();
  for (LockTable::Decision const& decision : parts_.locks.take_decisions()) {
    Origin* const origin = parts_.origins.find(decision.process);
    if (origin == nullptr) continue;
    try {
      send(*origin, decision);
    } catch (std::bad_alloc const&) {
      parts_.connections.fail(decision.process, "no memory for the reply to its lock request");
    }
  }
}

void LockReplies::send(Origin& origin, LockTable::Decision const& decision) {
  wire::RequestHeader request{};
  request.operation_id = decision.operation_id;
  if (decision.sequence != 0) {
    resume_stream(origin, decision);
  } else if (failed(decision.status)) {
    request.kind = wire::RequestKind::lock_request;
    parts_.replies.add_failure(origin, request, decision.status);
  } else {
    parts_.replies.add(origin, wire::ReplyKind::executed, request);
  }
}

/// Executes the requests behind the lock request, whatever its result. If the target had no memory for the
/// lock request, the origin is lost instead: its requests would be executed without the lock.
void LockReplies::resume_stream(Origin& origin, LockTable::Decision const& decision) {
  OutOfOrder* const rest = origin.out_of_order();
  if (rest == nullptr || rest->lock != decision.sequence) return;
  if (decision.status == Status::out_of_memory)
    return parts_.connections.fail(origin.process, "no memory for its lock request");
  rest->lock = 0;
  auto request = wire::begin_header<wire::RequestHeader>(wire::RequestKind::lock_request);
  request.sequence = decision.sequence;
  // The acknowledgement of the lock request also covers requests executed before their turn; then it is not
  // delayed.
  request.flags = rest->executed_early.empty() ? wire::flag_delayed_ack : 0;
  request.context = static_cast<std::uint32_t>(decision.operation_id);
  if (failed(decision.status)) parts_.replies.add_failure(origin, request, decision.status);
  parts_.executed_positions.note_executed(origin, request, wire::cost_of(request, 0));
  parts_.streams.execute_waiting(origin);
}

}  // namespace mpixrma::engine
