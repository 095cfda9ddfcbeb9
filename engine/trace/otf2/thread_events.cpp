#include "engine/trace/otf2/thread_events.hpp"

#include <algorithm>
#include <new>

namespace mpixrma::engine {

namespace {

OTF2_RmaAtomicType atomic_type(TracedOp op) noexcept {
  switch (op) {
    case TracedOp::increment: return OTF2_RMA_ATOMIC_TYPE_INCREMENT;
    case TracedOp::swap: return OTF2_RMA_ATOMIC_TYPE_SWAP;
    case TracedOp::compare_and_swap: return OTF2_RMA_ATOMIC_TYPE_COMPARE_AND_SWAP;
    case TracedOp::fetch_and_add: return OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ADD;
    case TracedOp::fetch_and_increment: return OTF2_RMA_ATOMIC_TYPE_FETCH_AND_INCREMENT;
    case TracedOp::fetch_and_accumulate: return OTF2_RMA_ATOMIC_TYPE_FETCH_AND_ACCUMULATE;
    default: return OTF2_RMA_ATOMIC_TYPE_ACCUMULATE;
  }
}

bool fetches(TracedOp op) noexcept { return op >= TracedOp::swap; }

OTF2_RegionRef region_of(TraceRecord const& record) noexcept {
  switch (record.tail.kind) {
    case RecordKind::operation: return issue_region(record.tail.op);
    case RecordKind::execution: return execution_region(record.tail.op);
    default: return wait_region;
  }
}

constexpr OTF2_AttributeRef number_of(TraceAttribute attribute) noexcept {
  return static_cast<OTF2_AttributeRef>(attribute);
}

}  // namespace

ThreadEvents::ThreadEvents(OTF2_EvtWriter* writer, ProcessIndices const& indices, TickConversion time)
    : writer_(writer), indices_(indices), time_(time), attributes_(OTF2_AttributeList_New()) {
  if (attributes_ == nullptr) throw std::bad_alloc();
}

ThreadEvents::~ThreadEvents() { OTF2_AttributeList_Delete(attributes_); }

void ThreadEvents::write(ThreadRecords const& thread) {
  for (TraceRecord const* record : thread.records) {
    while (!calls_.empty() && calls_.back().end <= record->begin) leave();
    if (!is_part_of_wait(*record)) enter(*record);
  }
  while (!calls_.empty()) leave();
}

/// A completion call records two waits: the whole call, and, nested in it, the wait for messages only.
bool ThreadEvents::is_part_of_wait(TraceRecord const& record) const noexcept {
  if (record.tail.kind != RecordKind::wait || calls_.empty()) return false;
  TraceRecord const& outer = *calls_.back().record;
  return outer.tail.kind == RecordKind::wait && outer.peer == record.peer && outer.end >= record.end;
}

/// Returns the attributes for the event that is written next, which consumes them.
OTF2_AttributeList* ThreadEvents::protocol_of(TraceRecord const& record) {
  check_otf2(OTF2_AttributeList_AddStringRef(attributes_, number_of(TraceAttribute::protocol),
                                             protocol_string(record.tail.protocol)));
  return attributes_;
}

/// As protocol_of(), for the Enter event of a call. A call that issues an operation has no attributes,
/// because the event of the operation follows and contains more.
OTF2_AttributeList* ThreadEvents::attributes_of(TraceRecord const& record) {
  if (record.tail.kind == RecordKind::operation) return nullptr;
  if (record.peer != unknown_peer)
    check_otf2(
        OTF2_AttributeList_AddUint32(attributes_, number_of(TraceAttribute::rank), indices_.at(record.peer)));
  if (record.tail.kind == RecordKind::wait) return attributes_;
  check_otf2(
      OTF2_AttributeList_AddUint32(attributes_, number_of(TraceAttribute::requests), record.tail.count));
  check_otf2(OTF2_AttributeList_AddUint64(attributes_, number_of(TraceAttribute::bytes), record.bytes));
  return protocol_of(record);
}

void ThreadEvents::enter(TraceRecord const& record) {
  // OTF2 requires that a nested call ends no later than the call around it.
  std::uint64_t const end = calls_.empty() ? record.end : std::min(record.end, calls_.back().end);
  bool const is_operation = record.tail.kind == RecordKind::operation;
  Call const call{&record, end, region_of(record), is_operation ? operations_++ : 0};
  check_otf2(OTF2_EvtWriter_Enter(writer_, attributes_of(record), time_(record.begin), call.region));
  if (is_operation) write_operation(record, call.operation);
  calls_.push_back(call);
}

void ThreadEvents::write_operation(TraceRecord const& record, std::uint64_t operation) {
  std::uint64_t const begin = time_(record.begin);
  std::uint32_t const target = indices_.at(record.peer);
  OTF2_AttributeList* const attributes = protocol_of(record);
  if (record.tail.op == TracedOp::put) {
    check_otf2(
        OTF2_EvtWriter_RmaPut(writer_, attributes, begin, trace_window, target, record.bytes, operation));
  } else if (record.tail.op == TracedOp::get) {
    check_otf2(
        OTF2_EvtWriter_RmaGet(writer_, attributes, begin, trace_window, target, record.bytes, operation));
  } else {
    check_otf2(OTF2_EvtWriter_RmaAtomic(writer_, attributes, begin, trace_window, target,
                                        atomic_type(record.tail.op), record.bytes,
                                        fetches(record.tail.op) ? record.bytes : 0, operation));
  }
  if (record.sequence != 0) outstanding_[record.peer].push_back({record.sequence, operation});
}

void ThreadEvents::leave() {
  Call const call = calls_.back();
  calls_.pop_back();
  if (call.record->tail.kind == RecordKind::operation) write_completion(call);
  if (call.record->tail.kind == RecordKind::wait) write_wait_end(call);
  check_otf2(OTF2_EvtWriter_Leave(writer_, nullptr, time_(call.end), call.region));
}

void ThreadEvents::write_completion(Call const& call) {
  check_otf2(call.record->tail.complete != 0
                 ? OTF2_EvtWriter_RmaOpCompleteBlocking(writer_, nullptr, time_(call.end), trace_window,
                                                        call.operation)
                 : OTF2_EvtWriter_RmaOpCompleteNonBlocking(writer_, nullptr, time_(call.end), trace_window,
                                                           call.operation));
}

/// Also completes the thread's operations up to the position in the message stream that was waited for.
void ThreadEvents::write_wait_end(Call const& call) {
  TraceRecord const& wait = *call.record;
  std::deque<AwaitedOperation>& operations = outstanding_[wait.peer];
  while (!operations.empty() && operations.front().sequence <= wait.sequence) {
    check_otf2(OTF2_EvtWriter_RmaOpCompleteRemote(writer_, nullptr, time_(call.end), trace_window,
                                                  operations.front().operation));
    operations.pop_front();
  }
  check_otf2(OTF2_EvtWriter_RmaSync(writer_, nullptr, time_(call.end), trace_window, indices_.at(wait.peer),
                                    OTF2_RMA_SYNC_TYPE_MEMORY));
}

}  // namespace mpixrma::engine
