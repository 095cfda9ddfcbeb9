#include "engine/target/executed_positions.hpp"

namespace mpixrma::engine {

void ExecutedPositions::note_executed(Origin& origin, wire::RequestHeader const& header, std::uint64_t cost) {
  ++processed_;
  ++origin.processed_requests;
  origin.processed_cost += cost;
  take_position(origin, header.sequence);
  bool const delayed_ack = (header.flags & wire::flag_delayed_ack) != 0;
  if (!delayed_ack || origin.processed_cost - origin.reported_cost >= replies_.max_unacked_bytes())
    replies_.schedule_acknowledgement(origin);
}

void ExecutedPositions::note_executed(Origin& origin, wire::RequestHeader const& first, ExecutedRun run) {
  processed_ += run.requests;
  origin.processed_requests += run.requests;
  origin.executed += run.requests;
  origin.processed_cost += run.requests * wire::cost_of(first, run.data_bytes);
  replies_.schedule_acknowledgement(origin);
}

void ExecutedPositions::delay_acknowledgement(Origin& origin, wire::RequestHeader const& last) noexcept {
  bool const is_executed = origin.executed == last.sequence;
  if (is_executed && origin.processed_cost - origin.reported_cost < replies_.max_unacked_bytes())
    origin.acknowledgement_due = false;
}

void ExecutedPositions::reject(Origin& origin, wire::RequestHeader const& header, std::size_t payload_bytes,
                               Status status) {
  // The rest of an operation that has stripes, or waits for them, cannot go on without this part.
  bool const is_part = header.kind == wire::RequestKind::stripe_lock || (header.flags & wire::flag_held) != 0;
  if (is_part && status == Status::out_of_memory)
    return connections_.fail(origin.process, "no room for its atomic operation");
  replies_.add_failure(origin, header, status);
  note_executed(origin, header, wire::cost_of(header, payload_bytes));
}

void ExecutedPositions::reply_busy(Origin& origin, wire::RequestHeader const& header,
                                   std::size_t payload_bytes) {
  origin.processed_cost += wire::cost_of(header, payload_bytes);
  replies_.add(origin, wire::ReplyKind::busy, header);
}

void ExecutedPositions::take_position(Origin& origin, std::uint64_t sequence) {
  if (sequence == origin.executed + 1) {
    ++origin.executed;
    OutOfOrder* const rest = origin.out_of_order();
    while (rest != nullptr && !rest->executed_early.empty() &&
           *rest->executed_early.begin() == origin.executed + 1) {
      rest->executed_early.erase(rest->executed_early.begin());
      buffers_.remove_entry(origin);
      ++origin.executed;
    }
  } else {
    if (!buffers_.add_entry(origin))
      return connections_.fail(origin.process, "no room for the positions of its stream");
    origin.make_out_of_order().executed_early.insert(sequence);
  }
}

}  // namespace mpixrma::engine
