#include "nam/server/live_grants.hpp"

#include <algorithm>
#include <utility>

#include "nam/process/log.hpp"

namespace mpixrma::nam {

LiveGrant* LiveGrants::find(std::string const& id) {
  auto const found = grants_.find(id);
  return found != grants_.end() ? &found->second : nullptr;
}

LiveGrant& LiveGrants::add(Grant const& grant) {
  LiveGrant& live = grants_[grant.id];
  live.grant = grant;
  return live;
}

bool LiveGrants::owned_by(uid_t uid) const {
  return std::any_of(grants_.begin(), grants_.end(),
                     [&](auto const& entry) { return entry.second.grant.owner == uid; });
}

LiveGrants::Committed LiveGrants::committed(uid_t owner) const {
  Committed found;
  uid_t const account = clients_.owner_of(owner);
  auto const count = [&](uid_t user, std::uint64_t bytes) {
    found.bytes += bytes;
    if (clients_.owner_of(user) != account) return;
    found.bytes_of_user += bytes;
    ++found.grants_of_user;
  };
  for (auto const& [id, live] : grants_) count(live.grant.owner, live.grant.bytes);
  for (auto const& link : ending_) count(link->owner(), link->occupied_bytes());
  return found;
}

DataLink const& LiveGrants::end(std::string const& id) {
  auto const found = grants_.find(id);
  found->second.link->end(DataLink::WindowsAtEnd::discarded);
  ending_.push_back(std::move(found->second.link));
  grants_.erase(found);
  return *ending_.back();
}

void LiveGrants::end_all() {
  for (auto& [id, live] : grants_) ending_.push_back(std::move(live.link));
  grants_.clear();
  for (auto const& link : ending_) link->end(DataLink::WindowsAtEnd::kept);
}

void LiveGrants::abandon_storing() {
  for (auto const& link : ending_) link->abandon_storing();
}

void LiveGrants::tick() {
  for (auto& [id, live] : grants_) live.link->tick();
  for (auto const& link : ending_) link->tick();
}

void LiveGrants::answer_at_end(ClientId client, DataLink const& link, std::string const& grant) {
  clients_.pause(client);
  revocations_.push_back({&link, client, grant});
}

void LiveGrants::drop_ended(std::ptrdiff_t max_lingering) {
  enforce_end();
  std::erase_if(ending_, [](auto const& link) { return link->has_ended() && link->release_memory(); });
  auto lingering =
      std::count_if(ending_.begin(), ending_.end(), [](auto const& link) { return link->has_ended(); });
  std::erase_if(ending_, [&](auto const& link) { return link->has_ended() && lingering-- > max_lingering; });
}

bool LiveGrants::drop_all_ended() {
  enforce_end();
  std::erase_if(ending_, [](auto const& link) { return link->has_ended(); });
  return ending_.empty();
}

/// Also answers the clients that wait for an end.
void LiveGrants::enforce_end() {
  for (auto const& link : ending_) link->enforce_end();
  std::vector<Revocation> done;
  std::erase_if(revocations_, [&](Revocation const& each) {
    if (each.link->has_ended()) done.push_back(each);
    return each.link->has_ended();
  });
  for (Revocation const& each : done) clients_.answer_paused(each.client, {{"grant", each.grant}});
}

void LiveGrants::end_in_queue(ClientId client, Error const& why) {
  for (auto& [id, live] : grants_) {
    if (live.link->give_way(client, why)) return;
  }
  for (auto const& link : ending_) {
    if (link->give_way(client, why)) return;
  }
}

void GrantLines::write(uid_t account, std::string const& text, Severity severity) {
  auto const omitted = budgets_.take(user_name(account), TokenBuckets::Clock::now());
  if (!omitted) return;
  std::string const others = std::to_string(*omitted) + " lines about grants of this user were omitted";
  log(severity, *omitted == 0 ? text : text + " (" + others + ")");
}

void GrantLines::report_omitted() {
  for (TokenBuckets::Refused const& each : budgets_.take_refused(TokenBuckets::Clock::now()))
    log(Severity::info,
        std::to_string(each.count) + " lines about grants of " + each.source + " were omitted");
}

}  // namespace mpixrma::nam
