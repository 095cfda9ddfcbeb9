#include "engine/target/lock_answers.hpp"

#include <new>

namespace mpixrma::engine {

void LockAnswers::give() {
  parts_.locks.poll_holders();
  for (LockTable::Answer const& answer : parts_.locks.take_answers()) {
    Origin* const origin = parts_.origins.find(answer.process);
    if (origin == nullptr) continue;
    try {
      give(*origin, answer);
    } catch (std::bad_alloc const&) {
      parts_.connections.lose(answer.process, "no memory for the reply to its lock request");
    }
  }
}

void LockAnswers::give(Origin& origin, LockTable::Answer const& answer) {
  wire::RequestHeader asked{};
  asked.token = answer.token;
  if (answer.position != 0) {
    end_wait(origin, answer);
  } else if (failed(answer.status)) {
    asked.kind = wire::RequestKind::lock_request;
    parts_.replies.add_failure(origin, asked, answer.status);
  } else {
    parts_.replies.add(origin, wire::ReplyKind::executed, asked);
  }
}

/// Requests behind the lock request continue, whatever its result. Only if there was no memory for it they
/// must not: they would be executed without a lock that others hold.
void LockAnswers::end_wait(Origin& origin, LockTable::Answer const& answer) {
  OutOfOrder* const rest = origin.out_of_order();
  if (rest == nullptr || rest->lock != answer.position) return;
  if (answer.status == Status::out_of_memory)
    return parts_.connections.lose(origin.process, "no memory for its lock request");
  rest->lock = 0;
  auto asked = wire::begin_header<wire::RequestHeader>(wire::RequestKind::lock_request);
  asked.sequence = answer.position;
  // Requests executed ahead of it have been acknowledged, and are reported with it.
  asked.flags = rest->ahead.empty() ? wire::flag_delayed_ack : 0;
  asked.context = static_cast<std::uint32_t>(answer.token);
  if (failed(answer.status)) parts_.replies.add_failure(origin, asked, answer.status);
  parts_.progress.note_executed(origin, asked, wire::cost_of(asked, 0));
  parts_.streams.execute_waiting(origin);
}

}  // namespace mpixrma::engine
