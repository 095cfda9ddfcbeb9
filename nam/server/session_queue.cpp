#include "nam/server/session_queue.hpp"

#include <poll.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "nam/protocol/descriptor_refusal.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::size_t max_in_flight = 64;
constexpr std::size_t max_waiting = 2048;
constexpr std::ptrdiff_t max_waiting_guest = 64;  ///< of a user who does not own the grant

constexpr short hang_up = POLLRDHUP | POLLHUP | POLLERR;

bool has_hung_up(FileDescriptor const& socket) noexcept {
  pollfd entry{socket.get(), POLLRDHUP, 0};
  return ::poll(&entry, 1, 0) == 1 && (entry.revents & hang_up) != 0;
}

void refuse(SessionQueue::Entry entry, Error const& error) {
  Channel channel(std::move(entry.socket), ChannelLimits{});
  if (entry.session.contains("stream"))
    channel.protect(SecureStream::from_state(field<std::string>(entry.session, "stream")));
  channel.post(to_answer(error));
  (void)channel.flush();
}

}  // namespace

bool SessionQueue::has_room_for(Json const& session) const {
  if (waiting_.size() >= max_waiting) return false;
  if (field<uid_t>(session, "uid") == owner_ || field<bool>(session, "admin")) return true;
  auto const account_of = [](Json const& each) { return field<uid_t>(each, "account"); };
  auto const of_user = std::count_if(waiting_.begin(), waiting_.end(), [&](Entry const& each) {
    return account_of(each.session) == account_of(session);
  });
  return of_user < max_waiting_guest && waiting_.size() < max_waiting / 2;
}

void SessionQueue::add(Entry entry) {
  if (has_room_for(entry.session)) {
    waiting_.push_back(std::move(entry));
    return;
  }
  refuse(std::move(entry),
         Error(ErrorCode::quota, "too many sessions wait for the data process of the grant already"));
}

std::optional<std::pair<FileDescriptor, Json>> SessionQueue::next() {
  InterruptedWait const interrupted;
  while (!waiting_.empty() && in_flight_.size() < max_in_flight) {
    Entry entry = std::move(waiting_.front());
    waiting_.pop_front();
    if (has_hung_up(entry.socket)) continue;
    in_flight_.push_back(std::move(entry.place));
    return std::pair(std::move(entry.socket), std::move(entry.session));
  }
  return std::nullopt;
}

void SessionQueue::acknowledge(std::uint64_t count) {
  auto const taken = std::min<std::uint64_t>(count, in_flight_.size());
  in_flight_.erase(in_flight_.begin(), in_flight_.begin() + static_cast<std::ptrdiff_t>(taken));
}

bool SessionQueue::give_way(std::uint64_t connection, Error const& why) {
  auto const is_meant = [&](Admission::Place const& place) {
    return place && place.connection() == connection;
  };
  auto const flying = std::find_if(in_flight_.begin(), in_flight_.end(), is_meant);
  if (flying != in_flight_.end()) {
    *flying = {};
    return true;
  }
  auto const waiting =
      std::find_if(waiting_.begin(), waiting_.end(), [&](Entry const& each) { return is_meant(each.place); });
  if (waiting == waiting_.end()) return false;
  Entry entry = std::move(*waiting);
  waiting_.erase(waiting);
  refuse(std::move(entry), why);
  return true;
}

void SessionQueue::drop_abandoned() {
  if (waiting_.empty()) return;
  std::vector<pollfd> entries;
  for (Entry const& each : waiting_) entries.push_back({each.socket.get(), POLLRDHUP, 0});
  if (::poll(entries.data(), entries.size(), 0) <= 0) return;
  InterruptedWait const interrupted;
  std::size_t index = 0;
  std::erase_if(waiting_, [&](Entry const&) { return (entries[index++].revents & hang_up) != 0; });
}

void SessionQueue::refuse_all(Error const& error) {
  for (Entry& each : std::exchange(waiting_, {})) refuse(std::move(each), error);
}

}  // namespace mpixrma::nam
