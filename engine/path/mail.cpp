#include "engine/path/mail.hpp"

#include <sched.h>

#include <algorithm>

#include "engine/agent/wire.hpp"
#include "engine/atomic/backoff.hpp"
#include "engine/peer/peer_state.hpp"
#include "engine/segment/mailbox.hpp"
#include "engine/segment/probe.hpp"

namespace mpix::engine {

namespace {

bool suits(Transfer const& transfer) noexcept {
  return transfer.target_layout.is_contiguous() && transfer.target_layout.block <= Mail::most_data;
}
bool suits(Update const& update) noexcept {
  std::size_t const operands = operand_count(update.operation);
  return update.target_layout.is_contiguous() && update.scale == nullptr &&
         update.target_layout.block * std::max<std::size_t>(operands, 1) <= Mail::most_data;
}

/// An origin that is not there is to be an error, as it is where the kernel moves the data.
bool origin_is_there(Transfer const& transfer) noexcept {
  if (!transfer.origin_layout.is_contiguous()) return true;
  return accessible(transfer.origin, transfer.origin_layout.block, transfer.direction == Direction::get);
}
bool origin_is_there(Update const&) noexcept { return true; }

/// `element_flag`: what asks for atomicity of each element, where the stripes are not held.
unsigned flags_of(Guarantee guarantees, bool held, wire::RequestFlag element_flag) noexcept {
  unsigned flags = held ? wire::flag_held : wire::RequestFlag{};
  if (has(guarantees, Guarantee::target_registered)) flags |= wire::flag_registered;
  if (!held && has(guarantees, Guarantee::element_atomic)) flags |= element_flag;
  return flags;
}

void write(Mail& mail, Transfer const& transfer, bool held) noexcept {
  bool const get = transfer.direction == Direction::get;
  mail.kind = static_cast<std::uint8_t>(get ? wire::RequestKind::get : wire::RequestKind::put);
  mail.element_type = mail.operation = 0;
  mail.flags = static_cast<std::uint16_t>(flags_of(transfer.guarantees, held, wire::flag_atomic));
  mail.data_bytes = get ? 0 : mail.bytes;
  if (!get) pack(mail.data, transfer.origin, transfer.origin_layout, 0, mail.bytes);
}

void write(Mail& mail, Update const& update, bool held) noexcept {
  mail.kind = static_cast<std::uint8_t>(wire::RequestKind::update);
  mail.element_type = static_cast<std::uint8_t>(update.type);
  mail.operation = static_cast<std::uint8_t>(update.operation);
  unsigned flags = flags_of(update.guarantees, held, wire::flag_elements);
  // The first one of a single element switches its memory, for which the stripe is held.
  if (held && !has(update.guarantees, Guarantee::atomic)) flags |= wire::flag_elements;
  if (update.result != nullptr) flags |= wire::flag_fetch;
  mail.flags = static_cast<std::uint16_t>(flags);
  unsigned const operands = operand_count(update.operation);
  mail.data_bytes = static_cast<std::uint16_t>(operands * mail.bytes);
  if (operands > 0) pack(mail.data, update.origin, update.origin_layout, 0, mail.bytes);
  if (operands > 1) pack(mail.data + mail.bytes, update.operand2, update.origin_layout, 0, mail.bytes);
}

/// What was fetched: as much as was asked for, whatever stands in the answer.
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

enum class Outcome : std::uint8_t { answered, unseen, lost };

/// Until the slot is answered, or nobody has taken it for `patience`.
Outcome wait(MailSlot& slot, Peer const& peer, std::chrono::nanoseconds patience,
             std::function<void()> const& serve) {
  constexpr unsigned looks_per_time = 16;
  constexpr unsigned patient_looks = 4096;
  std::chrono::steady_clock::time_point end;
  bool taken = false;
  for (unsigned looks = 1; !slot.is_answered(); ++looks) {
    serve();
    cpu_relax();
    if (looks % looks_per_time != 0) continue;
    auto const now = std::chrono::steady_clock::now();
    if (looks == looks_per_time) end = now + patience;
    if (!taken && now >= end) {
      if (slot.try_take_back()) return Outcome::unseen;
      taken = true;
    }
    if (looks < patient_looks) continue;
    if (peer.is_lost()) return Outcome::lost;
    sched_yield();
  }
  return Outcome::answered;
}

template <typename Operation>
std::optional<Status> deliver_any(Operation const& operation, bool held, std::uint64_t origin, Peer& peer,
                                  std::chrono::nanoseconds patience, std::function<void()> const& serve) {
  RemoteSegments& target = *peer.state().segments;
  MailUse& use = target.mailbox_use();
  if (!suits(operation) || !use.permits()) return std::nullopt;
  if (!origin_is_there(operation)) return Status::bad_origin;
  Mailbox& mailbox = target.mailbox();
  MailSlot* const slot = mailbox.claim(origin);
  if (slot == nullptr) return std::nullopt;
  Mail& mail = slot->content();
  mail.address = operation.target;
  mail.exposure = static_cast<std::uint64_t>(operation.exposed.target);
  mail.bytes = static_cast<std::uint16_t>(operation.target_layout.block);
  write(mail, operation, held);
  mailbox.post(*slot);
  switch (wait(*slot, peer, patience, serve)) {
    case Outcome::answered: break;
    case Outcome::unseen:
      slot->free();
      use.note_unseen();
      return std::nullopt;
    case Outcome::lost: return Status::transport;
  }
  Status const status = status_of(mail);
  if (!failed(status)) read(mail, operation);
  slot->free();
  use.note_answered();
  return status == Status::busy ? std::nullopt : std::optional(status);
}

}  // namespace

std::optional<Status> deliver(Transfer const& transfer, bool held, std::uint64_t origin, Peer& peer,
                              std::chrono::nanoseconds patience, std::function<void()> const& serve) {
  return deliver_any(transfer, held, origin, peer, patience, serve);
}

std::optional<Status> deliver(Update const& update, bool held, std::uint64_t origin, Peer& peer,
                              std::chrono::nanoseconds patience, std::function<void()> const& serve) {
  return deliver_any(update, held, origin, peer, patience, serve);
}

}  // namespace mpix::engine
