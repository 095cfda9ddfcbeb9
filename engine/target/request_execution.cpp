#include "engine/target/request_execution.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "engine/base/tsan_ignore_scope.hpp"
#include "engine/op/kernel/whole_elements.hpp"
#include "engine/target/access_memory.hpp"

namespace mpixrma::engine {

namespace {

// The data of a get of at least this size are passed to UCX instead of being copied into a message.
constexpr std::size_t least_borrowed_bytes = 8 * 1024;

}  // namespace

void RequestExecution::perform(Origin& origin, wire::CheckedRequest const& request,
                               UniqueStripeLock stripe_lock, std::size_t payload_bytes, Status resolved) {
  wire::RequestHeader const& header = request.header;
  if (header.kind == wire::RequestKind::stripe_lock)
    return grant_stripes(origin, header, std::move(stripe_lock), payload_bytes);
  if (wire::locks_in_stream(header)) return queue_lock_request(origin, header, payload_bytes);
  std::uint64_t const began = parts_.trace.begin();
  execute_or_fail(origin, request, resolved);
  parts_.trace.add(began, header, {origin.process, Protocol::message, 1, header.bytes});
  bool ended = header.operation_offset + header.bytes == header.total;
  if (HeldStripes* const held = origin.held_stripes_of(header.operation_id)) {
    held->rest -= std::min(held->rest, header.bytes);
    ended = held->rest == 0;
    if (ended) {
      origin.out_of_order()->held_stripes.erase(header.operation_id);
      parts_.buffers.remove_entry(origin);
    }
  }
  parts_.executed_positions.note_executed(origin, header, wire::cost_of(header, payload_bytes));
  // The acknowledgement of the stream would not suffice: it may wait for an earlier request, and that request
  // for stripes that the origin holds for this operation.
  if ((header.flags & wire::flag_separate_reply) != 0 && ended)
    parts_.replies.add(origin, wire::ReplyKind::executed, header);
}

/// Grants the stripes to an operation of several messages, until its last message is executed.
void RequestExecution::grant_stripes(Origin& origin, wire::RequestHeader const& header,
                                     UniqueStripeLock stripe_lock, std::size_t payload_bytes) {
  OutOfOrder& rest = origin.make_out_of_order();
  if (!rest.held_stripes.contains(header.operation_id) && !parts_.buffers.add_entry(origin))
    return parts_.executed_positions.reject(origin, header, payload_bytes, Status::out_of_memory);
  rest.held_stripes[header.operation_id] = {std::move(stripe_lock), header.total};
  parts_.replies.add(origin, wire::ReplyKind::stripes_granted, header);
  parts_.executed_positions.note_executed(origin, header, wire::cost_of(header, payload_bytes));
}

/// LockReplies ends the wait.
void RequestExecution::queue_lock_request(Origin& origin, wire::RequestHeader const& header,
                                          std::size_t payload_bytes) {
  OutOfOrder& rest = origin.make_out_of_order();
  // Legitimate requests are ordered behind the lock that they wait for.
  if (rest.lock != 0)
    return parts_.executed_positions.reject(origin, header, payload_bytes, Status::malformed);
  rest.lock = header.sequence;
  parts_.locks.acquire(origin, header);
}

/// Executes the request, unless `status` is a failure already, and increments the operation's counter.
/// Replies with a failure.
void RequestExecution::execute_or_fail(Origin& origin, wire::CheckedRequest const& request, Status status) {
  std::size_t const replies = parts_.replies.size();
  bool const refused = failed(status);
  if (!failed(status)) status = execute(origin, request);
  if (Status const counted = notify(origin, request.header, status); !failed(status)) status = counted;
  if (!failed(status)) return;
  parts_.replies.drop_from(replies);  // including data fetched before the failure
  parts_.replies.add_failure(origin, request.header, status,
                             refused ? 0 : parts_.memory.exposed_base(request.header));
}

Status RequestExecution::execute(Origin& origin, wire::CheckedRequest const& request) {
  switch (request.header.kind) {
    case wire::RequestKind::find_segment: parts_.queries.reply(origin, request); return Status::ok;
    case wire::RequestKind::key_dropped:
      parts_.queries.note_dropped(request.header.operation_id, origin.process);
      return Status::ok;
    case wire::RequestKind::lock_request: parts_.locks.acquire(origin, request.header); return Status::ok;
    case wire::RequestKind::lock_release: return parts_.locks.release(origin, request.header);
    default: break;
  }
  bool const in_exposure = request.header.notify_exposure != 0;
  if (!in_exposure && request.header.notify != 0 && !parts_.memory.has_counter(request.header.notify))
    return Status::bad_address;
  FaultRange accessed;
  Status const status = parts_.memory.find(request, &accessed);
  if (failed(status)) return status;
  [[maybe_unused]] TsanIgnoreScope const ignored_by_tsan;
  return move_data(origin, request, accessed);
}

/// Increments the operation's counter if this was the last of its messages and none of them has failed.
Status RequestExecution::notify(Origin& origin, wire::RequestHeader const& header, Status outcome) {
  if ((header.notify | header.notify_exposure) == 0) return Status::ok;
  PartialOperation state{0, failed(outcome)};
  if (header.bytes < header.total) {
    auto& partial = origin.make_out_of_order().partial_operations;
    if (!partial.contains(header.operation_id) && !parts_.buffers.add_entry(origin))
      return Status::out_of_memory;
    PartialOperation& kept = partial[header.operation_id];
    kept.bytes += header.bytes;
    kept.failed = kept.failed || state.failed;
    if (kept.bytes < header.total) return Status::ok;
    state = kept;
    partial.erase(header.operation_id);
    parts_.buffers.remove_entry(origin);
  }
  if (state.failed) return Status::ok;
  (void)admit_faults();
  return access_memory({header.notify, header.notify + sizeof(std::uint64_t)}, Access::write, [&] {
    __atomic_fetch_add(reinterpret_cast<std::uint64_t*>(header.notify), 1, __ATOMIC_SEQ_CST);
  });
}

/// Fetched data is returned in replies of one fragment each.
Status RequestExecution::move_data(Origin& origin, wire::CheckedRequest const& request, FaultRange accessed) {
  wire::RequestHeader const& header = request.header;
  if (!wire::moves_data(header)) return Status::malformed;
  // Effects of its predecessors must be visible to processes that load and store here before this request
  // reads.
  if (header.after != 0) std::atomic_thread_fence(std::memory_order_seq_cst);
  bool const fetches = wire::is_fetching(header);
  std::size_t most = header.bytes;
  if (fetches) most = fragment_bytes_;
  if (fetches && header.kind == wire::RequestKind::update)
    most = whole_elements(static_cast<ElementType>(header.element_type), most);
  std::span<std::byte const> const borrowed = range_to_borrow(origin, request);
  for (std::uint64_t done = 0; done < borrowed.size();) {
    std::size_t const bytes = std::min<std::uint64_t>(most, borrowed.size() - done);
    parts_.replies.add_borrowed(origin, header, borrowed.subspan(done, bytes)).header.offset =
        header.operation_offset + done;
    done += bytes;
  }
  for (std::uint64_t done = borrowed.size(); done < header.bytes;) {
    std::size_t const bytes = std::min<std::uint64_t>(most, header.bytes - done);
    std::byte* const fetched = fetches ? new_data(origin, header, done, bytes) : nullptr;
    Status const status = parts_.memory.execute_part(request, accessed, {done, bytes}, fetched);
    if (failed(status)) return status;
    done += bytes;
  }
  return Status::ok;
}

/// Returns the memory of a get that a reply may refer to until it is sent, which saves a copy; an empty range
/// if the data must be copied: when the stripes are released or the target is notified, its memory may
/// change.
std::span<std::byte const> RequestExecution::range_to_borrow(Origin const& origin,
                                                             wire::CheckedRequest const& request) {
  wire::RequestHeader const& header = request.header;
  bool const changes_at_once = (header.flags & (wire::flag_atomic | wire::flag_held)) != 0 ||
                               (header.notify | header.notify_exposure) != 0;
  if (header.bytes < least_borrowed_bytes || changes_at_once || !parts_.replies.may_borrow(origin)) return {};
  return parts_.memory.allocated_range(request);
}

/// Creates a reply for the `bytes` bytes from `done` on of the request's range; returns the location for
/// them.
std::byte* RequestExecution::new_data(Origin& origin, wire::RequestHeader const& header, std::uint64_t done,
                                      std::size_t bytes) {
  Replies::Reply& reply = parts_.replies.add(origin, wire::ReplyKind::data, header);
  reply.header.offset = header.operation_offset + done;
  reply.header.bytes = bytes;
  return parts_.replies.add_payload(reply, bytes);
}

}  // namespace mpixrma::engine
