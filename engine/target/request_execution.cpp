/// Executor: the execution of one request.
#include <algorithm>
#include <atomic>

#include "engine/base/unwatched.hpp"
#include "engine/op/kernel/whole_elements.hpp"
#include "engine/target/access_memory.hpp"
#include "engine/target/executor.hpp"

namespace mpixrma::engine {

/// Executes the request, unless `status` is a failure already, and increments its counter. Answers a failure.
void Executor::execute_or_fail(Origin& origin, wire::CheckedRequest const& request, Status status) {
  std::size_t const replies = replies_.size();
  bool const refused = failed(status);
  if (!failed(status)) status = execute(origin, request);
  if (Status const counted = count(origin, request, failed(status)); !failed(status)) status = counted;
  if (!failed(status)) return;
  replies_.drop_from(replies);  // including data fetched before the failure
  replies_.add_failure(origin, request.header, status, refused ? 0 : memory_.exposed_base(request.header));
}

Status Executor::execute(Origin& origin, wire::CheckedRequest const& request) {
  switch (request.header.kind) {
    case wire::RequestKind::find_segment: answer_query(origin, request); return Status::ok;
    case wire::RequestKind::forgotten:
      holders_.remove(request.header.token, origin.process);
      return Status::ok;
    case wire::RequestKind::acquire: acquire_lock(origin, request.header); return Status::ok;
    case wire::RequestKind::release: return release_lock(origin, request.header);
    default: break;
  }
  bool const named = request.header.notify_exposure != 0;
  if (!named && request.header.notify != 0 && !memory_.has_counter(request.header.notify))
    return Status::bad_address;
  FaultRange accessed;
  Status const status = memory_.find(request, &accessed);
  if (failed(status)) return status;
  [[maybe_unused]] Unwatched const unwatched;
  return carry_out(origin, request, accessed);
}

/// LockTable gives the answer. For an in-stream lock, the answer's token is the context of its errors.
void Executor::acquire_lock(Origin const& origin, wire::RequestHeader const& header) {
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
                                   .answers = &lock_answers_};
  auto const lock = static_cast<LockId>(header.address);
  attempt ? locks_.try_acquire(lock, request) : locks_.acquire(lock, request);
}

Status Executor::release_lock(Origin const& origin, wire::RequestHeader const& header) {
  auto const lock = static_cast<LockId>(header.address);
  if (static_cast<wire::ReleaseKind>(header.operation) == wire::ReleaseKind::taken)
    return locks_.look(lock, lock_answers_);
  return locks_.release(lock, {origin.process, header.owner}, lock_answers_);
}

/// Increments the operation's counter if this was its last message and none has failed.
Status Executor::count(Origin& origin, wire::CheckedRequest const& request, bool failed) {
  wire::RequestHeader const& header = request.header;
  if ((header.notify | header.notify_exposure) == 0) return Status::ok;
  Counted state{0, failed};
  if (header.bytes < header.total) {
    auto& counted = origin.make_out_of_order().counted;
    if (!counted.contains(header.token) && !add_entry(origin)) return Status::out_of_memory;
    Counted& kept = counted[header.token];
    kept.bytes += header.bytes;
    kept.failed = kept.failed || failed;
    if (kept.bytes < header.total) return Status::ok;
    state = kept;
    counted.erase(header.token);
    remove_entry(origin);
  }
  if (state.failed) return Status::ok;
  (void)admit_faults();
  return access_memory({header.notify, header.notify + sizeof(std::uint64_t)}, true, [&] {
    __atomic_fetch_add(reinterpret_cast<std::uint64_t*>(header.notify), 1, __ATOMIC_SEQ_CST);
  });
}

/// Fetched data is returned in replies of one fragment each.
Status Executor::carry_out(Origin& origin, wire::CheckedRequest const& request, FaultRange accessed) {
  wire::RequestHeader const& header = request.header;
  if (!wire::moves_data(header)) return Status::malformed;
  // Effects of its predecessors must be visible to processes that load and store here before this request
  // reads.
  if (header.after != 0) std::atomic_thread_fence(std::memory_order_seq_cst);
  bool const fetches = wire::is_fetching(header);
  std::size_t most = header.bytes;
  if (fetches) most = settings_.fragment_bytes;
  if (fetches && header.kind == wire::RequestKind::update)
    most = whole_elements(static_cast<ElementType>(header.element_type), most);
  for (std::uint64_t done = 0; done < header.bytes;) {
    std::size_t const bytes = std::min<std::uint64_t>(most, header.bytes - done);
    std::byte* const fetched = fetches ? new_data(origin, header, done, bytes) : nullptr;
    Status const status = memory_.execute_part(request, accessed, {done, bytes}, fetched);
    if (failed(status)) return status;
    done += bytes;
  }
  return Status::ok;
}

/// Creates a reply for the `bytes` bytes from `done` on of the request's range; returns the location for
/// them.
std::byte* Executor::new_data(Origin& origin, wire::RequestHeader const& header, std::uint64_t done,
                              std::size_t bytes) {
  Replies::Reply& reply = replies_.add(origin, wire::ReplyKind::data, header);
  reply.header.offset = header.offset + done;
  reply.header.bytes = bytes;
  return replies_.add_payload(reply, bytes);
}

}  // namespace mpixrma::engine
