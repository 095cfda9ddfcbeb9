/// Executor: batches of requests.
#include <algorithm>
#include <atomic>

#include "engine/base/unwatched.hpp"
#include "engine/net/joined.hpp"
#include "engine/target/access_memory.hpp"
#include "engine/target/executor.hpp"

namespace mpixrma::engine {

namespace {

template <typename Header>
std::span<std::byte const> bytes_of(Header const& header) noexcept {
  return std::as_bytes(std::span(&header, 1));
}

/// Whether the requests of a run need nothing but their memory and stripes of single elements.
bool is_simple(wire::RequestHeader const& header) noexcept {
  constexpr unsigned simple =
      wire::flag_scale | wire::flag_registered | wire::flag_elements | wire::flag_arrays;
  return !wire::is_fetching(header) && (header.flags & ~simple) == 0;
}

}  // namespace

void Executor::take_joined(std::span<std::byte const> header, std::span<std::byte const> payload) {
  wire::JoinedHeader joined{};
  if (char const* const fault = wire::check(header, &joined)) return drops_.note(fault);
  if (ended_.contain(joined.session)) return;  // left behind by an ended process
  Origin* const origin = origin_of(joined.session);
  if (origin == nullptr) return drops_.note("its session does not exist");
  NeighbourStripes::Scope const scope(neighbours_);
  char const* const fault = take_records(*origin, payload);
  if (fault != nullptr) drops_.note(fault);
}

/// Handles each request as if it had come alone, until one is malformed; returns the error of that one, or
/// nullptr.
char const* Executor::take_records(Origin& origin, std::span<std::byte const> records) {
  wire::JoinedReader<wire::RequestHeader> reader(origin.session.request, records);
  wire::RequestHeader header;
  std::span<std::byte const> payload;
  wire::RequestRun run;
  std::uint64_t unpaid = 0;
  while (reader.next(&header, &payload, &run)) {
    if (!wire::may_be_joined(header)) return "a request that must not be in a batch";
    std::uint64_t more = 0;
    std::uint64_t const requests = std::max<std::size_t>(run.size(), 1);
    if (__builtin_mul_overflow(wire::unpaid_bytes(header), requests, &more) ||
        __builtin_add_overflow(unpaid, more, &unpaid) || unpaid > wire::max_unpaid_bytes)
      return "a batch that exceeds the permitted size";
    if (run.size() != 0) {
      take_run(origin, run);
      continue;
    }
    take_in_session(origin, bytes_of(header), payload);
    // If the lock is granted at once, the requests behind it need not be buffered first.
    if (wire::locks_in_stream(header) && lock_answers_.has_news()) answer_locks();
  }
  return reader.is_malformed() ? "a truncated batch" : nullptr;
}

/// Handles each request that does not permit to be executed together with its neighbours as if it had come
/// alone.
void Executor::take_run(Origin& origin, wire::RequestRun run) {
  wire::RequestHeader header;
  std::span<std::byte const> data;
  while (run.size() != 0) {
    run.skip(execute_together(origin, run));
    if (run.next(&header, &data)) take_in_session(origin, bytes_of(header), data);
  }
}

/// Executes the first requests of the run, as many as are in order and access valid memory of one segment.
/// Returns their number.
std::size_t Executor::execute_together(Origin& origin, wire::RequestRun const& run) {
  wire::RequestHeader const& header = run.header();
  bool const in_order = header.sequence == origin.executed + 1 && origin.out_of_order() == nullptr;
  if (!in_order || origin.endpoint == nullptr || !is_simple(header) || !may_answer(origin, header)) return 0;
  wire::CheckedRequest request{};
  if (wire::check(bytes_of(header), {run.data(), run.shape().data_bytes()}, &request) != nullptr) return 0;
  RequestedMemory::RunMemory const found = memory_.find_run(run);
  if (found.count == 0) return 0;
  // Effects of predecessors must be visible to processes that load and store here before a request reads.
  if (header.after != 0) std::atomic_thread_fence(std::memory_order_seq_cst);
  [[maybe_unused]] Unwatched const unwatched;
  (void)admit_faults();
  std::uint64_t const began = trace_.begin();
  std::size_t volatile done = 0;  // read after a fault
  Status const status = access_memory(found.accessed, wire::is_write(header), [&] {
    run.visit_while([&](RemoteAddress address, std::byte const* data) {
      if (done == found.count) return false;
      if (run.is_chained() && done != 0) std::atomic_thread_fence(std::memory_order_seq_cst);
      request.header.address = found.base + address;
      request.data = {data, run.shape().data_bytes()};
      if (!hold_for_element(request)) return false;
      memory_.execute_unguarded(request);
      done = done + 1;
      return true;
    });
  });
  std::size_t executed = done;
  if (failed(status)) {
    wire::RequestRun rest = run;
    rest.skip(executed++);
    replies_.add_failure(origin, rest.header(), status);
  }
  std::size_t const bytes = run.shape().data_bytes();
  if (executed != 0) trace_.add(began, header, {origin.process, Path::message, executed, executed * bytes});
  if (executed != 0) note_run(origin, header, {executed, run.shape().data_bytes()});
  return executed;
}

/// Acquires the stripes of an update, if it needs some. Returns false if they are not free.
bool Executor::hold_for_element(wire::CheckedRequest const& request) noexcept {
  if ((request.header.flags & wire::flag_elements) == 0) return true;
  StripeSets const stripes = stripes_for(request, segments_.stripes().modes);
  if (stripes.empty() || neighbours_.covers(stripes)) return true;
  neighbours_.release();
  StripeHold hold(segments_.stripes(), stripes);
  if (!acquire_shortly(hold)) return false;
  neighbours_.offer(stripes, hold);
  return true;
}

void Executor::note_run(Origin& origin, wire::RequestHeader const& first, ExecutedRun run) {
  executed_ += run.requests;
  origin.messages += run.requests;
  origin.executed += run.requests;
  origin.done += run.requests * wire::cost_of(first, run.data_bytes);
  replies_.owe(origin);
}

}  // namespace mpixrma::engine
