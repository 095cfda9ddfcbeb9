/// Executor: requests in the mailbox.
#include <algorithm>
#include <cstring>

#include "engine/agent/executor.hpp"
#include "engine/agent/unwatched.hpp"
#include "engine/atomic/backoff.hpp"

namespace mpix::engine {

namespace {

constexpr unsigned permitted_flags =
    wire::flag_atomic | wire::flag_fetch | wire::flag_held | wire::flag_registered | wire::flag_elements;

/// The header of a message with the same request.
wire::RequestHeader header_of(Mail const& mail) noexcept {
  auto header = wire::begin_header<wire::RequestHeader>(static_cast<wire::RequestKind>(mail.kind));
  header.element_type = mail.element_type;
  header.operation = mail.operation;
  header.flags = mail.flags;
  header.sequence = 1;
  header.address = mail.address;
  header.exposure = mail.exposure;
  header.block = header.bytes = header.total = mail.bytes;
  return header;
}

bool moves_data(Mail const& mail) noexcept {
  auto const kind = static_cast<wire::RequestKind>(mail.kind);
  return kind == wire::RequestKind::put || kind == wire::RequestKind::get ||
         kind == wire::RequestKind::update;
}

}  // namespace

int Executor::take_mail(Mailbox& mailbox) noexcept {
  return mail_.take(mailbox, [this](Mail& mail) {
    Mail const request = mail;  // what its origin writes from here on does not matter
    mail.status = static_cast<std::uint8_t>(execute_mail(request, mail.data));
  });
}

/// busy: the stripes are not free.
Status Executor::execute_mail(Mail const& mail, std::byte* answer) noexcept {
  wire::RequestHeader const header = header_of(mail);
  wire::CheckedRequest request{};
  bool const fits = mail.bytes <= Mail::most_data && mail.data_bytes <= Mail::most_data;
  char const* fault = "mail that is none";
  if (fits && moves_data(mail) && (mail.flags & ~permitted_flags) == 0)
    fault = wire::check(std::as_bytes(std::span(&header, 1)), std::span(mail.data).first(mail.data_bytes),
                        &request);
  if (fault != nullptr) {
    drops_.note(fault);
    return Status::malformed;
  }
  if (Status const status = resolve(request); failed(status)) return status;
  StripeSets const stripes = stripes_for(request, segments_.stripes().modes);
  if (!stripes.empty()) neighbours_.release();
  StripeHold hold(segments_.stripes(), stripes);
  if (!acquire_shortly(hold)) return Status::busy;
  if (Status const status = reachable(request, wire::is_write(request.header)); failed(status)) return status;
  [[maybe_unused]] Unwatched const unwatched;
  auto* const base = reinterpret_cast<std::byte*>(request.header.address);
  switch (static_cast<wire::RequestKind>(mail.kind)) {
    case wire::RequestKind::put: std::memcpy(base, mail.data, mail.bytes); break;
    case wire::RequestKind::get: std::memcpy(answer, base, mail.bytes); break;
    default: update_part_of(request, base, 0, mail.bytes, wire::is_fetching(header) ? answer : nullptr);
  }
  return Status::ok;
}

}  // namespace mpix::engine
