/// DataProcess: the account of the locks of clients that do not map the memory. A lock is noted from its first
/// request on, because a request that has to wait may hold the turn (SharedControl::try_lock).
#include "nam/data/data_process.hpp"

namespace mpixrma::nam {

void DataProcess::request_lock(SessionId id, Json const& request) {
  try_lock(id, request);
  Held& held = windows_.at(field<std::string>(request, "window"));
  held.lockers.insert(id);
  LockKey const key{held.slot, field<std::uint64_t>(request, "holder"), field<std::uint32_t>(request, "rank")};
  sessions_.at(id).requested_locks.insert(key);
}

void DataProcess::end_lock(SessionId id, Json const& request) {
  unlock(id, request);
  sessions_.at(id).requested_locks.erase({field<SharedControl::Slot>(request, "slot"),
                                          field<std::uint64_t>(request, "holder"),
                                          field<std::uint32_t>(request, "rank")});
}

void DataProcess::end_holder(SessionId id, Json const& request) {
  end_locks(id, request);
  auto const holder = field<std::uint64_t>(request, "holder");
  std::erase_if(sessions_.at(id).requested_locks, [&](LockKey const& key) { return key.holder == holder; });
}

/// Releases the locks and turns of the session at the window.
void DataProcess::revoke_locks(SessionId id, Held const& held) noexcept {
  auto const found = sessions_.find(id);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  auto& requested = session.requested_locks;
  for (auto next = requested.lower_bound({held.slot, 0, 0}); next != requested.end();) {
    if (next->slot != held.slot) return;
    std::uint64_t const holder = next->holder;
    auto const locks = session.locks.find(holder);
    if (locks != session.locks.end()) locks->second.unlock_all(held.slot);
    while (next != requested.end() && next->slot == held.slot && next->holder == holder)
      next = requested.erase(next);
  }
}

}  // namespace mpixrma::nam
