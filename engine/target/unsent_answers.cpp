/// Executor: how many answers an origin may leave with the transport. An origin that sends requests and takes
/// no answers would make this process keep all of them. Beyond its share its requests are kept, and executed
/// when answers have left; an origin whose requests find no room either has not kept to its credit, and is
/// lost.
#include <algorithm>
#include <utility>

#include "engine/target/executor.hpp"

namespace mpixrma::engine {

namespace {

/// Bytes that a reply without a message takes beside its payload.
constexpr std::size_t bytes_of_reply = 256;

/// Answers to the origin that the transport has not taken.
std::size_t unsent_bytes(Origin const& origin) noexcept {
  return origin.unsent->bytes + origin.waiting_bytes + bytes_of_reply * origin.replies_waiting;
}

}  // namespace

/// Begins to count the answers to a new origin.
void Executor::bound_answers(Origin& origin) const {
  if (settings_.answers_bytes == 0) return;
  origin.unsent = std::make_shared<MessageAccount>();
  origin.unsent->all = unsent_;
}

/// An origin that keeps to its credit needs less, unless it shares the memory with very many others.
std::size_t Executor::answer_share() const noexcept {
  std::size_t const least = settings_.fragment_bytes + (std::size_t{128} << 10);
  std::size_t const share = settings_.answers_bytes / std::max<std::size_t>(origins_.size(), 1);
  return std::max(std::min(share, max_buffered_bytes()), least);
}

/// A request for more than the share waits until nothing else is unsent.
bool Executor::has_room_for_answer(Origin const& origin, wire::RequestHeader const& request) const noexcept {
  std::uint64_t const bytes = wire::cost_of(request, 0);
  std::size_t const unsent = unsent_bytes(origin);
  return unsent + bytes <= answer_share() ||
         (unsent == 0 && unsent_->bytes + bytes <= settings_.answers_bytes);
}

/// Requests of the origin are tried again when answers have left.
void Executor::wait_for_answers(Origin& origin) {
  if (std::exchange(origin.waits_for_answers, true)) return;
  full_.push_back(&origin);
}

void Executor::retry_full() {
  for (Origin* const origin : std::exchange(full_, {})) {
    origin->waits_for_answers = false;
    release_held(*origin);
  }
}

/// After an answer, which may be to no request: of a lock that was waited for, or that memory has gone.
void Executor::check_unsent(Origin& origin) {
  if (unsent_bytes(origin) > 2 * answer_share() + wire::max_unpaid_bytes)
    end(origin, SessionEnd::answers_not_taken);
}

/// The connection is lost, and the origin's session admits nobody any more.
void Executor::end(Origin const& origin, SessionEnd why) {
  connections_.lose(origin.process, "it does not take its answers");
  if (credentials_.sessions != nullptr) credentials_.sessions->retire(origin.target, why);
}

}  // namespace mpixrma::engine
