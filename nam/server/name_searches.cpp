#include "nam/server/name_searches.hpp"

#include <chrono>
#include <utility>

#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

namespace {

/// Other clients are served between two steps.
constexpr std::chrono::milliseconds longest_step{2};
constexpr std::chrono::milliseconds search_pause{1};

}  // namespace

void NameSearches::add(NameSearch search) {
  clients_.pause(search.client);
  searches_[clients_.owner_of(clients_.identity(search.client).uid)].push_back(std::move(search));
  if (timer_ < 0) timer_ = loop_.add_timer([this] { take_turn(); });
  EventLoop::start_timer(timer_, search_pause);
}

/// Continues the search with some names. Returns true when it has answered.
bool NameSearches::answer(NameSearch& search) {
  Client* const client = clients_.find(search.client);
  if (client == nullptr) return true;
  Connection& connection = *client->connection;
  auto const end = Retry::Clock::now() + longest_step;
  try {
    Step result = search_(search);
    for (; result == Step::some; result = search_(search)) {
      if (Retry::Clock::now() >= end) return false;
    }
    connection.post({{"names", search.found}, {"more", result == Step::page}});
  } catch (Error const& error) {
    connection.post(to_answer(error));
  }
  connection.resume();
  return true;
}

void NameSearches::take_turn() {
  auto next = searches_.upper_bound(last_searcher_);
  if (next == searches_.end()) next = searches_.begin();
  if (next == searches_.end()) return;
  last_searcher_ = next->first;
  NameSearch search = std::move(next->second.front());
  next->second.pop_front();
  if (next->second.empty()) searches_.erase(next);
  if (!answer(search)) searches_[last_searcher_].push_back(std::move(search));
  if (!searches_.empty()) EventLoop::start_timer(timer_, search_pause);
}

}  // namespace mpixrma::nam
