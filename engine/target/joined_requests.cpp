/// Executor: batches of requests.
#include "engine/net/joined.hpp"
#include "engine/target/executor.hpp"

namespace mpixrma::engine {

namespace {

template <typename Header>
std::span<std::byte const> bytes_of(Header const& header) noexcept {
  return std::as_bytes(std::span(&header, 1));
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
  std::uint64_t unpaid = 0;
  while (reader.next(&header, &payload)) {
    if (!wire::may_be_joined(header)) return "a request that must not be in a batch";
    if (__builtin_add_overflow(unpaid, wire::unpaid_bytes(header), &unpaid) ||
        unpaid > wire::max_unpaid_bytes)
      return "a batch that exceeds the permitted size";
    take_in_session(origin, bytes_of(header), payload);
    // If the lock is granted at once, the requests behind it need not be buffered first.
    if (wire::locks_in_stream(header) && lock_answers_.has_news()) answer_locks();
  }
  return reader.is_malformed() ? "a truncated batch" : nullptr;
}

}  // namespace mpixrma::engine
