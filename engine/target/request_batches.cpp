#include "engine/target/request_batches.hpp"

#include <algorithm>
#include <atomic>

#include "engine/base/tsan_ignore_scope.hpp"
#include "engine/net/batch.hpp"
#include "engine/target/access_memory.hpp"

namespace mpixrma::engine {

namespace {

template <typename Header>
std::span<std::byte const> bytes_of(Header const& header) noexcept {
  return std::as_bytes(std::span(&header, 1));
}

/// Whether the requests of a run need nothing but their memory and stripes of single elements.
bool is_simple(wire::RequestHeader const& header) noexcept {
  constexpr unsigned simple =
      wire::flag_scale | wire::flag_registered | wire::flag_elements | wire::flag_arrays | wire::flag_rmw;
  return !wire::is_fetching(header) && (header.flags & ~simple) == 0;
}

}  // namespace

void RequestBatches::handle(std::span<std::byte const> header, std::span<std::byte const> payload) {
  wire::BatchHeader batch{};
  if (char const* const fault = wire::check(header, &batch)) return parts_.drops.record_drop(fault);
  if (parts_.origins.is_ended_session(batch.session)) return;  // left behind by an ended process
  Origin* const origin = parts_.origins.of_session(batch.session);
  if (origin == nullptr) return parts_.drops.record_drop("its session does not exist");
  RequestStripeCache::Scope const scope(parts_.stripes);
  char const* const fault = take_records(*origin, payload);
  if (fault != nullptr) parts_.drops.record_drop(fault);
}

/// Handles each request as if it had arrived alone, until the batch turns out to be malformed; returns the
/// error of the batch, or nullptr.
char const* RequestBatches::take_records(Origin& origin, std::span<std::byte const> records) {
  wire::BatchReader<wire::RequestHeader> reader(origin.session.request, records);
  wire::RequestHeader header{};
  std::span<std::byte const> payload;
  wire::RequestRun run;
  std::uint64_t uncarried = 0;
  bool const was_due = origin.acknowledgement_due;
  while (reader.next(&header, &payload, &run)) {
    if (!wire::may_be_in_batch(header)) return "a request that must not be in a batch";
    std::uint64_t more = 0;
    std::uint64_t const requests = std::max<std::size_t>(run.size(), 1);
    if (__builtin_mul_overflow(wire::bytes_without_payload(header), requests, &more) ||
        __builtin_add_overflow(uncarried, more, &uncarried) || uncarried > wire::max_bytes_without_payload)
      return "a batch that exceeds the permitted size";
    if (run.size() != 0) {
      take_run(origin, run);
      continue;
    }
    parts_.streams.handle(origin, bytes_of(header), payload);
    // If the lock is granted at once, the requests behind it need not be buffered first.
    if (wire::locks_in_stream(header) && parts_.lock_replies.are_due()) parts_.lock_replies.send_due();
  }
  if (reader.is_malformed()) return "a truncated batch";
  bool const ends_batch = (header.flags & wire::flag_batch_delayed_ack) != 0;
  if (ends_batch && !was_due) parts_.executed_positions.delay_acknowledgement(origin, header);
  return nullptr;
}

/// Handles the requests of a run. Those that cannot be executed together are handled as if each had arrived
/// alone.
void RequestBatches::take_run(Origin& origin, wire::RequestRun run) {
  wire::RequestHeader header;
  std::span<std::byte const> data;
  while (run.size() != 0) {
    run.skip(execute_together(origin, run));
    if (run.next(&header, &data)) parts_.streams.handle(origin, bytes_of(header), data);
  }
}

/// Executes the first requests of the run, as many as access valid memory of one segment and find their
/// stripes free; none if the run is not in order. Returns their number.
std::size_t RequestBatches::execute_together(Origin& origin, wire::RequestRun const& run) {
  wire::RequestHeader const& header = run.header();
  bool const in_order = header.sequence == origin.executed + 1 && origin.out_of_order() == nullptr;
  if (!in_order || origin.endpoint == nullptr || !is_simple(header) || !parts_.unsent.permits(origin, header))
    return 0;
  wire::CheckedRequest request{};
  if (wire::check(bytes_of(header), {run.data(), run.shape().data_bytes()}, &request) != nullptr) return 0;
  RequestedMemory::RunMemory const found = parts_.memory.find_run(run);
  if (found.count == 0) return 0;
  // Effects of predecessors must be visible to processes that load and store here before a request reads.
  if (header.after != 0) std::atomic_thread_fence(std::memory_order_seq_cst);
  [[maybe_unused]] TsanIgnoreScope const ignored_by_tsan;
  (void)admit_faults();
  std::uint64_t const began = parts_.trace.begin();
  std::size_t volatile done = 0;  // read after a fault
  Status const status = access_memory(found.accessed, access_of(header), [&] {
    run.visit_while([&](RemoteAddress address, std::byte const* data) {
      if (done == found.count) return false;
      if (run.is_chained() && done != 0) std::atomic_thread_fence(std::memory_order_seq_cst);
      request.header.address = found.base + address;
      request.data = {data, run.shape().data_bytes()};
      if (!acquire_element_stripes(request)) return false;
      parts_.memory.execute_unguarded(request);
      done = done + 1;
      return true;
    });
  });
  std::size_t executed = done;
  if (failed(status)) {
    wire::RequestRun rest = run;
    rest.skip(executed++);
    parts_.replies.add_failure(origin, rest.header(), status);
  }
  std::size_t const bytes = run.shape().data_bytes();
  if (executed == 0) return 0;
  parts_.trace.add(began, header, {origin.process, Protocol::message, executed, executed * bytes});
  parts_.executed_positions.note_executed(origin, header, {executed, bytes});
  return executed;
}

/// Acquires the stripes of an update, if it needs some. Returns false if they are not free.
bool RequestBatches::acquire_element_stripes(wire::CheckedRequest const& request) noexcept {
  if ((request.header.flags & wire::flag_elements) == 0) return true;
  StripeSets const stripes = parts_.stripes.required_by(request);
  if (stripes.empty() || parts_.stripes.covers(stripes)) return true;
  parts_.stripes.release();
  UniqueStripeLock stripe_lock = parts_.stripes.make_lock(stripes);
  if (!RequestStripeCache::try_acquire_spin(stripe_lock)) return false;
  parts_.stripes.store(stripes, stripe_lock);
  return true;
}

}  // namespace mpixrma::engine
