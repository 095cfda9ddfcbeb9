/// DataProcess: the account of the locks of clients that do not map the memory. A lock is noted from its
/// first request on, because a request that has to wait may hold the turn (SharedControl::try_lock).
#include "nam/data/data_process.hpp"

namespace mpixrma::nam {

void DataProcess::on_try_lock(SessionId id, Json const& request) {
  ServedWindow& served = window_for(id, request, WindowRights::none);
  LockKey const key{served.slot, field<std::uint64_t>(request, "holder"),
                    field<std::uint32_t>(request, "rank")};
  Session& session = sessions_.at(id);
  bool const is_new = !session.requested_locks.contains(key);
  if (is_new) shares_.locks.take(session.holder());
  try {
    try_lock(id, request);
  } catch (Error const&) {
    if (is_new) shares_.locks.give_back(session.holder());
    throw;
  }
  served.lockers.insert(id);
  engine::LockMode& mode = session.requested_locks.try_emplace(key, engine::LockMode::shared).first->second;
  // The mode stays exclusive until unlock(), because the turn may be exclusive.
  if (field<bool>(request, "exclusive")) mode = engine::LockMode::exclusive;
}

void DataProcess::on_unlock(SessionId id, Json const& request) {
  unlock(id, request);
  Session& session = sessions_.at(id);
  std::size_t const ended = session.requested_locks.erase({field<SharedControl::Slot>(request, "slot"),
                                                           field<std::uint64_t>(request, "holder"),
                                                           field<std::uint32_t>(request, "rank")});
  shares_.locks.give_back(session.holder(), ended);
}

void DataProcess::on_end_locks(SessionId id, Json const& request) {
  end_locks(id, request);
  auto const holder = field<std::uint64_t>(request, "holder");
  Session& session = sessions_.at(id);
  std::size_t const ended =
      std::erase_if(session.requested_locks, [&](auto const& lock) { return lock.first.holder == holder; });
  shares_.locks.give_back(session.holder(), ended);
}

/// Releases locks and turns of the session at the window.
void DataProcess::revoke_locks(SessionId id, ServedWindow const& served, Revoked which) noexcept {
  auto const found = sessions_.find(id);
  if (found == sessions_.end()) return;
  Session& session = found->second;
  auto& requested = session.requested_locks;
  auto next = requested.lower_bound({served.slot, 0, 0});
  while (next != requested.end() && next->first.slot == served.slot) {
    auto const lock = next++;
    if (which == Revoked::exclusive && lock->second != engine::LockMode::exclusive) continue;
    auto const locks = session.locks.find(lock->first.holder);
    if (locks != session.locks.end()) locks->second.unlock(served.slot, lock->first.rank);
    requested.erase(lock);
    shares_.locks.give_back(session.holder());
  }
}

/// Revokes the locks to which sessions have no right any more.
void DataProcess::revoke_locks_without_right(ServedWindow const& served) noexcept {
  for (SessionId const id : served.lockers) {
    Session const& session = sessions_.at(id);
    if (permits(session, served.window, WindowRights::write)) continue;
    revoke_locks(id, served,
                 permits(session, served.window, WindowRights::read) ? Revoked::exclusive : Revoked::all);
  }
}

}  // namespace mpixrma::nam
