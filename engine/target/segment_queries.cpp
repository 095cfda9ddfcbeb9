/// Executor: answers to origins.
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "engine/target/executor.hpp"

namespace mpixrma::engine {

/// Sets the credit of an origin: each gets the same share of the memory for operations in flight.
void Executor::divide_credit() noexcept {
  std::size_t const share = settings_.memory_bytes / std::max<std::size_t>(origins_.size(), 1);
  replies_.set_credit(std::min(std::max(share, wire::initial_credit), settings_.credit_bytes));
}

void Executor::revoke(std::uint64_t number, RemoteAddress base) {
  holders_.for_each(number, [&](std::uint64_t process) {
    wire::RequestHeader none{};
    none.token = number;
    replies_.add(*origins_.at(process), wire::ReplyKind::revoke, none).header.offset = base;
  });
  replies_.send_all();
}

void Executor::answer_locks() {
  look_at_holders();
  for (LockTable::Answer const& answer : locks_.take_answers(lock_answers_)) {
    auto const origin = origins_.find(answer.process);
    if (origin == origins_.end()) continue;
    try {
      answer_lock(*origin->second, answer);
    } catch (std::bad_alloc const&) {
      connections_.lose(answer.process, "no memory for the reply to its lock request");
    }
  }
}

void Executor::answer_lock(Origin& origin, LockTable::Answer const& answer) {
  wire::RequestHeader asked{};
  asked.token = answer.token;
  if (answer.position != 0) {
    end_lock_wait(origin, answer);
  } else if (failed(answer.status)) {
    asked.kind = wire::RequestKind::acquire;
    replies_.add_failure(origin, asked, answer.status);
  } else {
    replies_.add(origin, wire::ReplyKind::executed, asked);
  }
}

void Executor::answer_query(Origin& origin, wire::CheckedRequest const& request) {
  wire::SegmentReply found{};
  std::vector<std::byte> key;
  auto const id = static_cast<ExposureId>(request.header.exposure);
  Exposure const* const exposure = segments_.exposures().find(id);
  OwnSegment const* const segment =
      segments_.find(exposure != nullptr ? exposure->base : request.header.address);
  bool const is_hidden = credentials_.exposed_only && id == ExposureId::none;
  if (is_hidden || (id != ExposureId::none && (exposure == nullptr || segment == nullptr))) {
    found.is_gap = 1;
  } else if (segment == nullptr) {
    SegmentTable::Gap const gap = segments_.gap_around(request.header.address);
    found.base = gap.begin;
    found.length = gap.end - gap.begin;
    found.is_gap = 1;
  } else {
    if (provide_key_) key = provide_key_(*segment);
    found = {segment->generation, segment->base, segment->length, key.size(), 0, 0, 0, 0, 0};
    if (!key.empty()) holders_.add(segment->generation, origin.process);
  }
  if (exposure != nullptr && segment != nullptr) {
    found.exposure = request.header.exposure;
    found.exposed_base = exposure->base;
    found.exposed_length = exposure->length;
    found.rights = static_cast<std::uint64_t>(exposure->rights);
    // Peers that can only send messages need not drop anything before the exposure ends.
    if (!credentials_.exposed_only || !key.empty()) holders_.add(request.header.exposure, origin.process);
  }
  Replies::Reply& reply = replies_.add(origin, wire::ReplyKind::segment, request.header);
  reply.header.bytes = sizeof found + key.size();
  std::byte* const out = replies_.add_payload(reply, reply.header.bytes);
  std::memcpy(out, &found, sizeof found);
  if (!key.empty()) std::memcpy(out + sizeof found, key.data(), key.size());
}

}  // namespace mpixrma::engine
