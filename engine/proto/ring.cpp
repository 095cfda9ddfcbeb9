#include "engine/proto/ring.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <memory>

#include "engine/base/backoff.hpp"
#include "engine/base/liveness.hpp"
#include "engine/memory/probe.hpp"
#include "engine/net/ring.hpp"
#include "engine/net/wire.hpp"
#include "engine/origin/message_operation.hpp"
#include "engine/origin/peer_state.hpp"
#include "engine/proto/cross_memory.hpp"

namespace mpixrma::engine {

namespace {

/// Whether the operation fits into a slot.
bool fits_slot(RmaOp const& operation) noexcept {
  std::size_t const copies = std::max(operation.operands(), 1u);
  return operation.target_layout.is_contiguous() && operation.scale == nullptr &&
         operation.target_layout.block * copies <= RingEntry::max_data;
}

/// Whether staging the operation is worthwhile, compared with the other protocols.
bool is_worth_staging(RmaOp const& operation, RingRoute const& route) noexcept {
  // A caller that holds the stripes holds them until the whole update is done. The rest of the update must be
  // possible by the cross-memory protocol: a message would request the same stripes, or wait for the peer
  // while the peer waits for this process.
  if (operation.is_update()) return !route.held || route.across;
  if (!route.across) return !route.held;
  // Staged data is copied twice, once by each process. A copy by the kernel is faster for more than this
  // size, unless the data consists of many small pieces.
  constexpr std::size_t max_beside_kernel = 16 * 1024;
  return operation.target_layout.size() <= max_beside_kernel || is_scattered(operation.target_layout);
}

/// An unmapped origin of a put or get must be an error, as it is when the kernel transfers the data.
bool origin_is_accessible(RmaOp const& operation, DataRange range) noexcept {
  if (operation.is_update() || !operation.origin_layout.is_contiguous()) return true;
  return accessible(operation.origin + range.offset, range.bytes,
                    operation.is_get() ? Access::write : Access::read);
}

void write(RingEntry& entry, RmaOp const& operation) noexcept {
  bool const update = operation.is_update();
  entry.kind = static_cast<std::uint8_t>(request_kind_of(operation));
  entry.element_type = update ? static_cast<std::uint8_t>(operation.type) : 0;
  entry.operation = update ? static_cast<std::uint8_t>(operation.reduce_op) : 0;
  unsigned const operands = operation.operands();
  entry.data_bytes = static_cast<std::uint16_t>(operands * entry.bytes);
  if (operands > 0) pack(entry.data, operation.origin, operation.origin_layout, 0, entry.bytes);
  if (operands > 1)
    pack(entry.data + entry.bytes, operation.operand2, operation.origin_layout, 0, entry.bytes);
}

/// Reads the fetched data: as much as was requested, regardless of the sizes in the reply.
void read(RingEntry const& entry, RmaOp const& operation) noexcept {
  if (operation.fetches())
    unpack(operation.sink(), operation.sink_layout(), 0, entry.data, operation.target_layout.block);
}

Status status_of(RingEntry const& entry) noexcept {
  bool const known = entry.status < static_cast<unsigned>(Status::count_);
  return known ? static_cast<Status>(entry.status) : Status::malformed;
}

/// Returns nullptr if all slots that this process tries are in use.
RingSlot* claim(RingRoute const& route) {
  RemoteSegments& target = *route.peer.state().segments;
  if (RingSlot* const slot = target.ring().claim(route.origin, own_process)) return slot;
  if (target.ring_use().note_full())
    target.ring().free_of_ended(route.origin, own_process, [](pid_t pid) { return process_is_alive(pid); });
  return nullptr;
}

enum class Outcome : std::uint8_t { completed, not_taken, lost };

/// Waits until the slot is complete, no thread has taken it for the route's timeout, or the peer is lost.
Outcome wait(RingSlot& slot, RingRoute const& route) {
  constexpr unsigned polls_per_clock_read = 16;
  constexpr unsigned polls_before_yield = 4096;
  std::chrono::steady_clock::time_point end;
  bool taken = false;
  for (unsigned polls = 1; !slot.is_complete(); ++polls) {
    route.serve();
    cpu_relax();
    if (polls % polls_per_clock_read != 0) continue;
    auto const now = std::chrono::steady_clock::now();
    if (polls == polls_per_clock_read) end = now + route.timeout;
    if (!taken && now >= end) {
      if (slot.try_take_back()) return Outcome::not_taken;
      taken = true;
    }
    if (polls < polls_before_yield) continue;
    if (route.peer.is_lost()) return Outcome::lost;
    sched_yield();
  }
  return Outcome::completed;
}

std::optional<Status> deliver_small(RmaOp const& operation, RingRoute const& route) {
  RemoteSegments& target = *route.peer.state().segments;
  Ring& ring = target.ring();
  std::size_t const bytes = operation.target_layout.block;
  if (!origin_is_accessible(operation, {0, bytes})) return Status::bad_origin;
  RingSlot* const slot = claim(route);
  if (slot == nullptr) return std::nullopt;
  RingEntry& entry = slot->content();
  entry.staging = Staging::none;
  entry.address = operation.target;
  entry.exposure = static_cast<std::uint64_t>(operation.exposed.target);
  entry.bytes = static_cast<std::uint16_t>(bytes);
  entry.flags = flags_for_execution(operation, StripeHolder{route.held});
  write(entry, operation);
  ring.post(*slot);
  Outcome const outcome = wait(*slot, route);
  if (outcome == Outcome::lost) return Status::transport;
  bool const complete = outcome == Outcome::completed;
  Status const status = complete ? status_of(entry) : Status::busy;
  if (!failed(status)) read(entry, operation);
  ring.free(*slot);
  complete ? target.ring_use().note_completed() : target.ring_use().note_not_taken();
  return status == Status::busy ? std::nullopt : std::optional(status);
}

/// An operation in fragments, of which several are in flight at once.
class StagedDelivery {
 public:
  StagedDelivery(RmaOp const& operation, RingRoute const& route)
      : operation_(operation),
        message_(message_of(operation)),
        route_(route),
        target_(*route.peer.state().segments) {
    message_.header.flags |= flags_for_execution(operation, StripeHolder{route.held});
    message_.header.sequence = 1;
  }

  std::optional<Status> run(std::vector<DataRange>* left) {
    if (message_.total >= StagingMethodChooser::min_bytes)
      run_measured(left);
    else
      run_all(left);
    if (failed(status_)) return status_;
    if (sent_ < message_.total) left->push_back({sent_, message_.total - sent_});
    if (left->empty()) return Status::ok;
    // Nothing was executed, so the whole operation may take another protocol.
    if (executed_ == 0) left->clear();
    return std::nullopt;
  }

 private:
  static constexpr std::size_t depth = 4;
  static constexpr std::size_t min_bytes = 4 * 1024;
  struct InFlight {
    RingSlot* slot;
    DataRange range;
  };

  void run_all(std::vector<DataRange>* left) {
    for (;;) {
      send();
      if (used_ == 0) return;
      receive(left);
    }
  }

  void run_measured(std::vector<DataRange>* left) {
    StagingMethodChooser& method = target_.staging_method();
    std::size_t const bytes = message_.total;
    StagedReply const reply = message_.expects_data() ? StagedReply::fetched_data : StagedReply::status_only;
    staging_ = method.choose(bytes, reply);
    if (staging_ == Staging::non_temporal && message_.has_data())
      packed_ = std::make_unique_for_overwrite<std::byte[]>(StagedRequest::max_payload);
    auto const begin = std::chrono::steady_clock::now();
    run_all(left);
    bool const whole = !stopped_ && sent_ == bytes;
    if (whole) method.note(bytes, reply, staging_, std::chrono::steady_clock::now() - begin);
  }

  FragmentLimits limits() const noexcept {
    std::size_t const part = message_.total / depth / 64 * 64;
    return {std::clamp(part, min_bytes, StagedRequest::max_data), StagedRequest::max_runs,
            message_.element_bytes()};
  }

  /// Posts the next fragments for which there are slots.
  void send() {
    while (!stopped_ && sent_ < message_.total && used_ < depth) {
      Fragment const fragment = fragment_at(message_.target, message_.total, sent_, limits());
      DataRange const range{fragment.offset, fragment.bytes};
      if (!origin_is_accessible(operation_, range)) return fail(Status::bad_origin);
      RingSlot* const slot = claim(route_);
      if (slot == nullptr) return;
      stage(target_.ring().staged_of(*slot), fragment);
      slot->content().staging = staging_;
      target_.ring().post(*slot);
      in_flight_[(first_ + used_++) % depth] = {slot, range};
      sent_ += fragment.bytes;
    }
  }

  void stage(StagedRequest& staged, Fragment const& fragment) const noexcept {
    Layout const described = described_by(message_, fragment);
    wire::RequestHeader const header = header_of(message_, fragment, described, RunForm::full);
    std::size_t const bytes = payload_bytes_of(message_, header);
    staged.header = header;
    staged.payload_bytes = bytes;
    write_payload(packed_ != nullptr ? packed_.get() : staged.payload, message_, header, described);
    if (packed_ != nullptr) copy_non_temporal(staged.payload, packed_.get(), bytes);
  }

  /// Completes the oldest fragment.
  void receive(std::vector<DataRange>* left) {
    InFlight const oldest = in_flight_[first_];
    first_ = (first_ + 1) % depth;
    --used_;
    Outcome const outcome =
        not_taken_ && oldest.slot->try_take_back() ? Outcome::not_taken : wait(*oldest.slot, route_);
    switch (outcome) {
      case Outcome::lost: return fail(Status::transport);  // the slot is lost too
      case Outcome::not_taken:
        if (!not_taken_) target_.ring_use().note_not_taken();
        not_taken_ = stopped_ = true;
        left->push_back(oldest.range);
        break;
      case Outcome::completed: take_completed(oldest, left);
    }
    target_.ring().free(*oldest.slot);
  }

  void take_completed(InFlight const& completed, std::vector<DataRange>* left) {
    if (!not_taken_) target_.ring_use().note_completed();
    Status const status = status_of(completed.slot->content());
    if (status == Status::busy) {
      stopped_ = true;
      left->push_back(completed.range);
      return;
    }
    if (failed(status)) return fail(status);
    executed_ += completed.range.bytes;
    if (message_.sink == nullptr) return;
    StagedRequest const& staged = target_.ring().staged_of(*completed.slot);
    unpack(message_.sink, message_.sink_layout, completed.range.offset, staged.fetched,
           completed.range.bytes);
  }

  void fail(Status status) noexcept {
    if (!failed(status_)) status_ = status;
    stopped_ = true;
  }

  RmaOp const& operation_;
  MessageOperation message_;
  RingRoute const& route_;
  RemoteSegments& target_;
  Staging staging_ = Staging::cached;
  std::unique_ptr<std::byte[]> packed_;  ///< payload to be copied by non-temporal stores; else null
  std::array<InFlight, depth> in_flight_;
  std::size_t first_ = 0;
  std::size_t used_ = 0;
  std::size_t sent_ = 0;      ///< in bytes
  std::size_t executed_ = 0;  ///< in bytes
  bool stopped_ = false;      ///< nothing more is sent
  bool not_taken_ = false;
  Status status_ = Status::ok;
};

}  // namespace

std::optional<Status> deliver(RmaOp const& operation, RingRoute const& route, std::vector<DataRange>* left) {
  bool const small = fits_slot(operation);
  // Messages cannot describe more dimensions.
  bool const described = operation.target_layout.dims.size() <= max_dimensions;
  if (!small && !(described && is_worth_staging(operation, route))) return std::nullopt;
  if (!route.peer.state().segments->ring_use().permits()) return std::nullopt;
  if (small) return deliver_small(operation, route);
  return StagedDelivery(operation, route).run(left);
}

}  // namespace mpixrma::engine
