#include "engine/net/seals.hpp"

namespace mpixrma::engine {

void Seals::expect(std::uint64_t process, SealKey const& incoming, SealKey const& outgoing) {
  auto made = std::make_unique<Connection>(process, incoming, outgoing);
  forget_expected(process);
  Connection*& expected = expected_[process];
  try {
    auto const [place, is_new] = by_id_.emplace(incoming.id, std::move(made));
    expected = is_new ? place->second.get() : nullptr;
  } catch (...) {
    expected_.erase(process);
    throw;
  }
  if (expected == nullptr) expected_.erase(process);
}

void Seals::begin(std::uint64_t process, ucp_ep_h endpoint) {
  auto const found = expected_.find(process);
  if (found == expected_.end()) return;
  by_endpoint_.emplace(endpoint, found->second);
  found->second->endpoint = endpoint;
  expected_.erase(found);
}

Sealer* Seals::sealer_of(ucp_ep_h endpoint) noexcept {
  auto const found = by_endpoint_.find(endpoint);
  return found != by_endpoint_.end() ? &found->second->sealer : nullptr;
}

Seals::Connection* Seals::find(std::uint64_t incoming) noexcept {
  auto const found = by_id_.find(incoming);
  return found != by_id_.end() ? found->second.get() : nullptr;
}

void Seals::forget(ucp_ep_h endpoint) noexcept {
  auto const found = by_endpoint_.find(endpoint);
  if (found == by_endpoint_.end()) return;
  std::uint64_t const id = found->second->incoming_id;
  by_endpoint_.erase(found);
  by_id_.erase(id);
}

void Seals::forget_expected(std::uint64_t process) noexcept {
  auto const found = expected_.find(process);
  if (found == expected_.end()) return;
  std::uint64_t const id = found->second->incoming_id;
  expected_.erase(found);
  by_id_.erase(id);
}

}  // namespace mpixrma::engine
