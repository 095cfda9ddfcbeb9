#include "engine/target/requested_locks.hpp"

namespace mpixrma::engine {

void RequestedLocks::acquire(Origin const& origin, wire::RequestHeader const& header) {
  auto const kind = static_cast<wire::AcquireKind>(header.operation);
  bool const alone = kind == wire::AcquireKind::exclusive || kind == wire::AcquireKind::try_exclusive;
  bool const attempt = kind == wire::AcquireKind::try_exclusive || kind == wire::AcquireKind::try_shared;
  bool const in_stream = wire::locks_in_stream(header);
  LockTable::Request const request{.owner = {origin.process, header.owner},
                                   .mode = alone ? LockMode::exclusive : LockMode::shared,
                                   .overtakes = kind == wire::AcquireKind::overtaking,
                                   .time = header.lock_time,
                                   .token = in_stream ? header.context : header.token,
                                   .position = in_stream ? header.sequence : 0,
                                   .answers = &answers_};
  auto const lock = static_cast<LockId>(header.address);
  attempt ? table_.try_acquire(lock, request) : table_.acquire(lock, request);
}

Status RequestedLocks::release(Origin const& origin, wire::RequestHeader const& header) {
  auto const lock = static_cast<LockId>(header.address);
  if (static_cast<wire::ReleaseKind>(header.operation) == wire::ReleaseKind::taken)
    return table_.look(lock, answers_);
  return table_.release(lock, {origin.process, header.owner}, answers_);
}

}  // namespace mpixrma::engine
