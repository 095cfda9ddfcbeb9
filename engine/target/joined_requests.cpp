/// Executor: several requests in one message.
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
  if (ended_.contain(joined.session)) return;  // what a process that has gone has left behind
  Origin* const origin = origin_of(joined.session);
  if (origin == nullptr) return drops_.note("its session does not exist");
  NeighbourStripes::Scope const scope(neighbours_);
  char const* const fault = take_records(*origin, payload);
  if (fault != nullptr) drops_.note(fault);
}

/// Each as if it had come alone, until one is malformed; what is wrong with that, or nullptr.
char const* Executor::take_records(Origin& origin, std::span<std::byte const> records) {
  wire::JoinedReader<wire::RequestHeader> reader(origin.session.request, records);
  wire::RequestHeader header;
  std::span<std::byte const> payload;
  std::uint64_t unpaid = 0;
  while (reader.next(&header, &payload)) {
    if (!wire::may_be_joined(header)) return "a request that does not travel with others";
    if (__builtin_add_overflow(unpaid, wire::unpaid_bytes(header), &unpaid) ||
        unpaid > wire::max_unpaid_bytes)
      return "joined requests that ask for too much";
    take_in_session(origin, bytes_of(header), payload);
    // A lock that is granted at once: what stands behind it need not be kept first.
    if (wire::locks_in_stream(header) && lock_answers_.has_news()) answer_locks();
  }
  return reader.is_malformed() ? "a joined message that is cut off" : nullptr;
}

}  // namespace mpixrma::engine
