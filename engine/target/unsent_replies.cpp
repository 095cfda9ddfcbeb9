#include "engine/target/unsent_replies.hpp"

#include <algorithm>

namespace mpixrma::engine {

namespace {

/// Bytes that a reply without a message takes beside its payload.
constexpr std::size_t bytes_of_reply = 256;

/// Returns the bytes of replies to the origin that the transport has not sent.
std::size_t unsent_bytes(Origin const& origin) noexcept {
  return origin.unsent->bytes + origin.waiting_bytes + bytes_of_reply * origin.unsent_replies;
}

}  // namespace

void UnsentReplies::start_account(Origin& origin) const {
  if (settings_.replies_bytes == 0) return;
  origin.unsent = std::make_shared<MessageAccount>();
  origin.unsent->all = all_;
}

/// An origin that keeps to its credit needs less, unless it shares the memory with very many others.
std::size_t UnsentReplies::share() const noexcept {
  std::size_t const least = settings_.fragment_bytes + (std::size_t{128} << 10);
  std::size_t const equal = settings_.replies_bytes / std::max<std::size_t>(origins_.size(), 1);
  return std::max(std::min(equal, buffers_.max_origin_bytes()), least);
}

/// A request for more than the share waits until nothing is unsent to its origin, and the unsent replies to
/// all origins leave room for it.
bool UnsentReplies::has_room(Origin const& origin, wire::RequestHeader const& request) const noexcept {
  std::uint64_t const bytes = wire::cost_of_reply(request);
  std::size_t const unsent = unsent_bytes(origin);
  return unsent + bytes <= share() || (unsent == 0 && all_->bytes + bytes <= settings_.replies_bytes);
}

void UnsentReplies::add_waiting(Origin& origin) {
  if (std::exchange(origin.waits_until_sent, true)) return;
  waiting_.push_back(&origin);
}

void UnsentReplies::check(Origin const& origin) {
  if (unsent_bytes(origin) > 2 * share() + wire::max_bytes_without_payload) disconnect(origin);
}

void UnsentReplies::disconnect(Origin const& origin) {
  connections_.fail(origin.process, "it does not take its replies");
  if (credentials_.sessions != nullptr)
    credentials_.sessions->retire(origin.target, SessionEnd::replies_not_taken);
}

}  // namespace mpixrma::engine
