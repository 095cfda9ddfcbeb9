#include "engine/proto/mail.hpp"

#include <sched.h>

#include <algorithm>
#include <array>
#include <memory>

#include "engine/base/backoff.hpp"
#include "engine/base/liveness.hpp"
#include "engine/memory/probe.hpp"
#include "engine/net/mailbox.hpp"
#include "engine/net/wire.hpp"
#include "engine/origin/message_operation.hpp"
#include "engine/origin/peer_state.hpp"
#include "engine/proto/cross_memory.hpp"

namespace mpixrma::engine {

namespace {

/// Whether the operation fits into a slot.
bool suits(Transfer const& transfer) noexcept {
  return transfer.target_layout.is_contiguous() && transfer.target_layout.block <= Mail::most_data;
}
bool suits(Update const& update) noexcept {
  std::size_t const operands = operand_count(update.operation);
  return update.target_layout.is_contiguous() && update.scale == nullptr &&
         update.target_layout.block * std::max<std::size_t>(operands, 1) <= Mail::most_data;
}

/// Whether staging the operation is worthwhile, compared with the other paths.
bool suits_staging(Transfer const& transfer, MailRoute const& route) noexcept {
  // Staged data is copied twice, once by each processor: the kernel copies more than this in the same time,
  // but not in many small pieces.
  constexpr std::size_t most_beside_kernel = 16 * 1024;
  if (!route.across) return !route.held;
  return transfer.target_layout.size() <= most_beside_kernel || is_scattered(transfer.target_layout);
}
bool suits_staging(Update const&, MailRoute const& route) noexcept {
  // The stripes are held until the last part is executed, so the remainder must not need to acquire them.
  return !route.held || route.across;
}

/// An unmapped origin must be an error, as it is when the kernel transfers the data.
bool origin_is_there(Transfer const& transfer, DataRange range) noexcept {
  if (!transfer.origin_layout.is_contiguous()) return true;
  return accessible(transfer.origin + range.offset, range.bytes, transfer.direction == Direction::get);
}
bool origin_is_there(Update const&, DataRange) noexcept { return true; }

void write(Mail& mail, Transfer const& transfer) noexcept {
  bool const get = transfer.direction == Direction::get;
  mail.kind = static_cast<std::uint8_t>(get ? wire::RequestKind::get : wire::RequestKind::put);
  mail.element_type = mail.operation = 0;
  mail.data_bytes = get ? 0 : mail.bytes;
  if (!get) pack(mail.data, transfer.origin, transfer.origin_layout, 0, mail.bytes);
}

void write(Mail& mail, Update const& update) noexcept {
  mail.kind = static_cast<std::uint8_t>(wire::RequestKind::update);
  mail.element_type = static_cast<std::uint8_t>(update.type);
  mail.operation = static_cast<std::uint8_t>(update.operation);
  unsigned const operands = operand_count(update.operation);
  mail.data_bytes = static_cast<std::uint16_t>(operands * mail.bytes);
  if (operands > 0) pack(mail.data, update.origin, update.origin_layout, 0, mail.bytes);
  if (operands > 1) pack(mail.data + mail.bytes, update.operand2, update.origin_layout, 0, mail.bytes);
}

/// Reads the fetched data: as much as was requested, regardless of the sizes in the answer.
void read(Mail const& mail, Transfer const& transfer) noexcept {
  if (transfer.direction == Direction::get)
    unpack(transfer.origin, transfer.origin_layout, 0, mail.data, transfer.target_layout.block);
}
void read(Mail const& mail, Update const& update) noexcept {
  if (update.result != nullptr)
    unpack(update.result, update.result_layout, 0, mail.data, update.target_layout.block);
}

Status status_of(Mail const& mail) noexcept {
  bool const known = mail.status < static_cast<unsigned>(Status::count_);
  return known ? static_cast<Status>(mail.status) : Status::malformed;
}

/// Returns nullptr if all slots that this process tries are in use.
MailSlot* claim(MailRoute const& route) {
  RemoteSegments& target = *route.peer.state().segments;
  if (MailSlot* const slot = target.mailbox().claim(route.origin, own_process)) return slot;
  if (target.mailbox_use().note_full())
    target.mailbox().free_of_ended(route.origin, own_process,
                                   [](pid_t pid) { return process_is_alive(pid); });
  return nullptr;
}

enum class Outcome : std::uint8_t { answered, unseen, lost };

/// Waits until the slot is answered, or no thread has taken it for the route's patience.
Outcome wait(MailSlot& slot, MailRoute const& route) {
  constexpr unsigned looks_per_time = 16;
  constexpr unsigned patient_looks = 4096;
  std::chrono::steady_clock::time_point end;
  bool taken = false;
  for (unsigned looks = 1; !slot.is_answered(); ++looks) {
    route.serve();
    cpu_relax();
    if (looks % looks_per_time != 0) continue;
    auto const now = std::chrono::steady_clock::now();
    if (looks == looks_per_time) end = now + route.patience;
    if (!taken && now >= end) {
      if (slot.try_take_back()) return Outcome::unseen;
      taken = true;
    }
    if (looks < patient_looks) continue;
    if (route.peer.is_lost()) return Outcome::lost;
    sched_yield();
  }
  return Outcome::answered;
}

template <typename Operation>
std::optional<Status> deliver_small(Operation const& operation, MailRoute const& route) {
  RemoteSegments& target = *route.peer.state().segments;
  Mailbox& mailbox = target.mailbox();
  std::size_t const bytes = operation.target_layout.block;
  if (!origin_is_there(operation, {0, bytes})) return Status::bad_origin;
  MailSlot* const slot = claim(route);
  if (slot == nullptr) return std::nullopt;
  Mail& mail = slot->content();
  mail.staging = Staging::none;
  mail.address = operation.target;
  mail.exposure = static_cast<std::uint64_t>(operation.exposed.target);
  mail.bytes = static_cast<std::uint16_t>(bytes);
  mail.flags = flags_for_execution(operation, route.held);
  write(mail, operation);
  mailbox.post(*slot);
  Outcome const outcome = wait(*slot, route);
  if (outcome == Outcome::lost) return Status::transport;
  bool const answered = outcome == Outcome::answered;
  Status const status = answered ? status_of(mail) : Status::busy;
  if (!failed(status)) read(mail, operation);
  mailbox.free(*slot);
  answered ? target.mailbox_use().note_answered() : target.mailbox_use().note_unseen();
  return status == Status::busy ? std::nullopt : std::optional(status);
}

/// An operation in fragments, of which several are in flight at once.
template <typename Operation>
class StagedDelivery {
 public:
  StagedDelivery(Operation const& operation, MailRoute const& route)
      : operation_(operation),
        message_(message_of(operation)),
        route_(route),
        target_(*route.peer.state().segments) {
    message_.header.flags |= flags_for_execution(operation, route.held);
    message_.header.sequence = 1;
  }

  std::optional<Status> run(std::vector<DataRange>* left) {
    if (message_.total >= StagingPace::least_bytes)
      run_measured(left);
    else
      run_all(left);
    if (failed(status_)) return status_;
    if (sent_ < message_.total) left->push_back({sent_, message_.total - sent_});
    if (left->empty()) return Status::ok;
    // Nothing was executed, so the whole operation may take another path.
    if (executed_ == 0) left->clear();
    return std::nullopt;
  }

 private:
  static constexpr std::size_t depth = 4;
  static constexpr std::size_t least_bytes = 4 * 1024;
  struct UnderWay {
    MailSlot* slot;
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
    StagingPace& pace = target_.staging_pace();
    std::size_t const bytes = message_.total;
    bool const fetches = message_.expects_data();
    staging_ = pace.choose(bytes, fetches);
    if (staging_ == Staging::past_caches && message_.has_data())
      packed_ = std::make_unique_for_overwrite<std::byte[]>(StagedRequest::most_payload);
    auto const begin = std::chrono::steady_clock::now();
    run_all(left);
    bool const whole = !stopped_ && sent_ == bytes;
    if (whole) pace.note(bytes, fetches, staging_, std::chrono::steady_clock::now() - begin);
  }

  FragmentLimits limits() const noexcept {
    std::size_t const part = message_.total / depth / 64 * 64;
    return {std::clamp(part, least_bytes, StagedRequest::most_data), StagedRequest::most_segments,
            message_.element_bytes()};
  }

  /// Posts the next fragments for which there are slots.
  void send() {
    while (!stopped_ && sent_ < message_.total && used_ < depth) {
      Fragment const fragment = fragment_at(message_.target, message_.total, sent_, limits());
      DataRange const range{fragment.offset, fragment.bytes};
      if (!origin_is_there(operation_, range)) return fail(Status::bad_origin);
      MailSlot* const slot = claim(route_);
      if (slot == nullptr) return;
      stage(target_.mailbox().staged_of(*slot), fragment);
      slot->content().staging = staging_;
      target_.mailbox().post(*slot);
      under_way_[(first_ + used_++) % depth] = {slot, range};
      sent_ += fragment.bytes;
    }
  }

  void stage(StagedRequest& staged, Fragment const& fragment) const noexcept {
    Layout const described = described_by(message_, fragment);
    staged.header = header_of(message_, fragment, described);
    std::size_t const bytes = payload_bytes_of(message_, fragment, described);
    staged.payload_bytes = bytes;
    write_payload(packed_ != nullptr ? packed_.get() : staged.payload, message_, fragment, described);
    if (packed_ != nullptr) copy_past_caches(staged.payload, packed_.get(), bytes);
  }

  /// Completes the oldest fragment.
  void receive(std::vector<DataRange>* left) {
    UnderWay const oldest = under_way_[first_];
    first_ = (first_ + 1) % depth;
    --used_;
    Outcome const outcome =
        unseen_ && oldest.slot->try_take_back() ? Outcome::unseen : wait(*oldest.slot, route_);
    switch (outcome) {
      case Outcome::lost: return fail(Status::transport);  // the slot is lost too
      case Outcome::unseen:
        if (!unseen_) target_.mailbox_use().note_unseen();
        unseen_ = stopped_ = true;
        left->push_back(oldest.range);
        break;
      case Outcome::answered: take_answer(oldest, left);
    }
    target_.mailbox().free(*oldest.slot);
  }

  void take_answer(UnderWay const& answered, std::vector<DataRange>* left) {
    if (!unseen_) target_.mailbox_use().note_answered();
    Status const status = status_of(answered.slot->content());
    if (status == Status::busy) {
      stopped_ = true;
      left->push_back(answered.range);
      return;
    }
    if (failed(status)) return fail(status);
    executed_ += answered.range.bytes;
    if (message_.sink == nullptr) return;
    StagedRequest const& staged = target_.mailbox().staged_of(*answered.slot);
    unpack(message_.sink, message_.sink_layout, answered.range.offset, staged.fetched, answered.range.bytes);
  }

  void fail(Status status) noexcept {
    if (!failed(status_)) status_ = status;
    stopped_ = true;
  }

  Operation const& operation_;
  MessageOperation message_;
  MailRoute const& route_;
  RemoteSegments& target_;
  Staging staging_ = Staging::cached;
  std::unique_ptr<std::byte[]> packed_;  ///< payload to be copied past the caches; else null
  std::array<UnderWay, depth> under_way_;
  std::size_t first_ = 0;
  std::size_t used_ = 0;
  std::size_t sent_ = 0;      ///< in bytes
  std::size_t executed_ = 0;  ///< in bytes
  bool stopped_ = false;      ///< nothing more is sent
  bool unseen_ = false;
  Status status_ = Status::ok;
};

template <typename Operation>
std::optional<Status> deliver_any(Operation const& operation, MailRoute const& route,
                                  std::vector<DataRange>* left) {
  bool const small = suits(operation);
  // Messages cannot describe more dimensions.
  bool const described = operation.target_layout.dims.size() <= max_dimensions;
  if (!small && !(described && suits_staging(operation, route))) return std::nullopt;
  if (!route.peer.state().segments->mailbox_use().permits()) return std::nullopt;
  if (small) return deliver_small(operation, route);
  return StagedDelivery(operation, route).run(left);
}

}  // namespace

std::optional<Status> deliver(Transfer const& transfer, MailRoute const& route,
                              std::vector<DataRange>* left) {
  return deliver_any(transfer, route, left);
}

std::optional<Status> deliver(Update const& update, MailRoute const& route, std::vector<DataRange>* left) {
  return deliver_any(update, route, left);
}

}  // namespace mpixrma::engine
