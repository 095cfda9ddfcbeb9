#include "engine/target/lock_replies.hpp"

#include <new>

namespace mpixrma::engine {

void LockReplies::send_due() {
  parts_.locks.poll_holders();
  for (LockTable::Answer const& answer : parts_.locks.take_answers()) {
    Origin* const origin = parts_.origins.find(answer.process);
    if (origin == nullptr) continue;
    try {
      send(*origin, answer);
    } catch (std::bad_alloc const&) {
      parts_.connections.fail(answer.process, "no memory for the reply to its lock request");
    }
  }
}

void LockReplies::send(Origin& origin, LockTable::Answer const& answer) {
  wire::RequestHeader request{};
  request.operation_id = answer.operation_id;
  if (answer.sequence != 0) {
    resume_stream(origin, answer);
  } else if (failed(answer.status)) {
    request.kind = wire::RequestKind::lock_request;
    parts_.replies.add_failure(origin, request, answer.status);
  } else {
    parts_.replies.add(origin, wire::ReplyKind::executed, request);
  }
}

/// Executes the requests behind the lock request, whatever its result. If the target had no memory for the
/// lock request, the origin is lost instead: its requests would be executed without the lock.
void LockReplies::resume_stream(Origin& origin, LockTable::Answer const& answer) {
  OutOfOrder* const rest = origin.out_of_order();
  if (rest == nullptr || rest->lock != answer.sequence) return;
  if (answer.status == Status::out_of_memory)
    return parts_.connections.fail(origin.process, "no memory for its lock request");
  rest->lock = 0;
  auto request = wire::begin_header<wire::RequestHeader>(wire::RequestKind::lock_request);
  request.sequence = answer.sequence;
  // The acknowledgement of the lock request also covers requests executed before their turn; then it is not
  // delayed.
  request.flags = rest->executed_early.empty() ? wire::flag_delayed_ack : 0;
  request.context = static_cast<std::uint32_t>(answer.operation_id);
  if (failed(answer.status)) parts_.replies.add_failure(origin, request, answer.status);
  parts_.executed_positions.note_executed(origin, request, wire::cost_of(request, 0));
  parts_.streams.execute_waiting(origin);
}

}  // namespace mpixrma::engine
