#include "engine/target/requested_locks.hpp"

namespace mpixrma::engine {

void RequestedLocks::acquire(Origin const& origin, wire::RequestHeader const& header) {
  auto const kind = static_cast<wire::LockRequestKind>(header.operation);
  bool const alone = kind == wire::LockRequestKind::exclusive || kind == wire::LockRequestKind::try_exclusive;
  bool const attempt =
      kind == wire::LockRequestKind::try_exclusive || kind == wire::LockRequestKind::try_shared;
  bool const in_stream = wire::locks_in_stream(header);
  LockTable::Request const request{.owner = {origin.process, header.owner},
                                   .mode = alone ? LockMode::exclusive : LockMode::shared,
                                   .overtakes = kind == wire::LockRequestKind::overtaking,
                                   .time = header.lock_time,
                                   .operation_id = in_stream ? header.context : header.operation_id,
                                   .sequence = in_stream ? header.sequence : 0,
                                   .decisions = &decisions_};
  auto const lock = static_cast<LockId>(header.address);
  attempt ? table_.try_acquire(lock, request) : table_.acquire(lock, request);
}

Status RequestedLocks::release(Origin const& origin, wire::RequestHeader const& header) {
  auto const lock = static_cast<LockId>(header.address);
  if (static_cast<wire::LockReleaseKind>(header.operation) ==
      wire::LockReleaseKind::acquired_in_shared_memory)
    return table_.note_release(lock, decisions_);
  return table_.release(lock, {origin.process, header.owner}, decisions_);
}

}  // namespace mpixrma::engine
