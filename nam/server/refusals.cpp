#include "nam/server/refusals.hpp"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace mpixrma::nam {

namespace {

constexpr std::chrono::milliseconds refusal_period{10};

}  // namespace

/// The time to find that an object is absent differs from the time to find that it is hidden from the user.
/// So does the time to check a proof, depending on whether the user has a secret. Each answer is therefore
/// delayed until a multiple of `refusal_period` after its request.
void Refusals::add(Refusal refusal) {
  for (auto const now = Retry::Clock::now(); refusal.due <= now;) refusal.due += refusal_period;
  clients_.pause(refusal.client);
  refusals_.emplace(refusal.due, std::move(refusal));
  if (timer_ < 0) timer_ = loop_.add_timer([this] { send(); });
  EventLoop::start_timer(timer_, refusals_.begin()->first - Retry::Clock::now());
}

void Refusals::send() {
  auto const end = refusals_.upper_bound(Retry::Clock::now());
  std::vector<Refusal> due;
  std::transform(refusals_.begin(), end, std::back_inserter(due), [](auto& entry) { return entry.second; });
  refusals_.erase(refusals_.begin(), end);
  for (Refusal const& each : due) {
    Client* const client = clients_.find(each.client);
    if (client == nullptr) continue;
    if (!each.is_quiet) client->connection->post(to_answer(each.error));
    // After a failed proof the connection ends.
    client->identity ? client->connection->resume() : client->connection->close_when_sent();
  }
  if (!refusals_.empty()) EventLoop::start_timer(timer_, refusals_.begin()->first - Retry::Clock::now());
}

}  // namespace mpixrma::nam
