#include "engine/target/ring_requests.hpp"

#include <array>

#include "engine/base/tsan_ignore_scope.hpp"
#include "engine/op/kernel/kernels.hpp"
#include "engine/target/access_memory.hpp"

namespace mpixrma::engine {

namespace {

constexpr unsigned permitted_flags = wire::flag_atomic | wire::flag_fetch | wire::flag_held |
                                     wire::flag_registered | wire::flag_elements | wire::flag_scale |
                                     wire::flag_arrays | wire::flag_rmw;

/// Returns the header of a message with the same request.
wire::RequestHeader header_of(RingEntry const& entry) noexcept {
  auto header = wire::begin_header<wire::RequestHeader>(static_cast<wire::RequestKind>(entry.kind));
  header.element_type = entry.element_type;
  header.operation = entry.operation;
  header.flags = entry.flags;
  header.sequence = 1;
  header.address = entry.address;
  header.exposure = entry.exposure;
  header.block = header.bytes = header.total = entry.bytes;
  return header;
}

/// Whether the request has no fields that only make sense in a stream of messages.
bool is_plain(wire::RequestHeader const& header) noexcept {
  return wire::moves_data(header) && (header.flags & ~permitted_flags) == 0 &&
         (header.notify | header.notify_exposure) == 0;
}

/// Prefetches all lines at once, because the processor does not prefetch beyond a page.
void fetch_all(std::span<std::byte const> memory) noexcept {
  constexpr std::size_t line = 64;
  for (std::size_t i = 0; i < memory.size(); i += line) __builtin_prefetch(&memory[i]);
}

}  // namespace

int RingRequests::take(Ring& ring) noexcept {
  return reader_.take(ring, [this](RingEntry& entry, StagedRequest& staged) {
    RingEntry const request = entry;  // a copy, so that later writes of its origin have no effect
    Status const status = request.staging == Staging::none ? execute_entry(request, entry.data)
                                                           : execute_staged(staged, request.staging);
    entry.status = static_cast<std::uint8_t>(status);
  });
}

Status RingRequests::execute_entry(RingEntry const& entry, std::byte* reply) noexcept {
  wire::RequestHeader const header = header_of(entry);
  wire::CheckedRequest request{};
  char const* fault = "malformed ring request";
  if (entry.bytes <= RingEntry::max_data && entry.data_bytes <= RingEntry::max_data)
    fault = wire::check(std::as_bytes(std::span(&header, 1)), std::span(entry.data).first(entry.data_bytes),
                        &request);
  return execute_entry(request, fault, reply);
}

Status RingRequests::execute_staged(StagedRequest& staged, Staging staging) noexcept {
  alignas(8) std::array<std::byte, StagedRequest::max_description> description;
  wire::CheckedRequest request{};
  char const* fault = "malformed ring request";
  std::uint64_t const payload_bytes = staged.payload_bytes;  // read once, because its origin may change it
  if (payload_bytes <= StagedRequest::max_payload) {
    if (staging == Staging::non_temporal) fetch_all(std::span(staged.payload).first(payload_bytes));
    fault = wire::check(std::as_bytes(std::span(&staged.header, 1)),
                        std::span(staged.payload).first(payload_bytes), &request, description);
  }
  if (fault == nullptr && request.header.bytes > StagedRequest::max_data) fault = "oversized ring request";
  bool const fetches = fault == nullptr && wire::is_fetching(request.header);
  if (!fetches || staging != Staging::non_temporal) return execute_entry(request, fault, staged.fetched);
  Status const status = execute_entry(request, fault, fetched_.data());
  if (!failed(status)) copy_non_temporal(staged.fetched, fetched_.data(), request.header.bytes);
  return status;
}

/// Returns `busy` if the stripes are not free. `fault`: the error that wire::check() has found, or nullptr.
Status RingRequests::execute_entry(wire::CheckedRequest& request, char const* fault,
                                   std::byte* reply) noexcept {
  if (fault == nullptr && !is_plain(request.header)) fault = "malformed ring request";
  if (fault != nullptr) {
    parts_.drops.record_drop(fault);
    return Status::malformed;
  }
  if (Status const status = parts_.memory.resolve(request); failed(status)) return status;
  StripeSets const stripes = parts_.stripes.required_by(request);
  if (!stripes.empty()) parts_.stripes.release();
  UniqueStripeLock stripe_lock = parts_.stripes.make_lock(stripes);
  if (!RequestStripeCache::try_acquire_spin(stripe_lock)) return Status::busy;
  FaultRange accessed;
  if (Status const status = parts_.memory.find(request, &accessed); failed(status)) return status;
  [[maybe_unused]] TsanIgnoreScope const ignored_by_tsan;
  std::byte* const fetched = wire::is_fetching(request.header) ? reply : nullptr;
  std::uint64_t const began = parts_.trace.begin();
  Status const status = parts_.memory.execute_part(request, accessed, {0, request.header.bytes}, fetched);
  parts_.trace.add(began, request.header, {unknown_peer, Protocol::ring, 1, request.header.bytes});
  return status;
}

}  // namespace mpixrma::engine
