/// Describes the requests and locks that others wait for, for mpix-rma ps.

#include "engine/sync/lock_table.hpp"
#include "engine/target/executor.hpp"

namespace mpixrma::engine {

namespace {

using Long = unsigned long long;

char const* name_of(LockMode mode) noexcept { return mode == LockMode::exclusive ? "exclusive" : "shared"; }

}  // namespace

void Executor::describe_waiting(BoundedText& text) const {
  streams.describe_blocked(text);
  origins.for_each([&](Origin const& origin) {
    OutOfOrder const* const rest = origin.out_of_order();
    if (rest == nullptr) return;
    if (rest->lock != 0)
      text.add("  of process %s: all behind message %llu, which waits for a lock\n",
               text.name(origin.process).c_str(), static_cast<Long>(rest->lock));
    if (!rest->waiting.empty())
      text.add("  of process %s: %zu, the first until message %llu is executed; executed up to %llu\n",
               text.name(origin.process).c_str(), rest->waiting.size(),
               static_cast<Long>(rest->waiting.first_after()), static_cast<Long>(origin.executed));
  });
}

void LockTable::describe(BoundedText& text) {
  TableGuard const visit(*this, nullptr);
  for (LockId lock = 0; lock < exists_.size(); ++lock) {
    if (!exists_[lock]) continue;
    if (SharedLock* const word = shared(lock)) {
      word->for_each_holder([&](Holder holder) {
        text.add("  lock %u: held by pid %d, owner %u, without the agent\n", lock,
                 static_cast<int>(pid_of(holder)), owner_of(holder));
      });
    }
    auto const found = queues_.find(lock);
    if (found == queues_.end()) continue;
    Queue const& queue = found->second;
    for (auto const& [owner, granted] : queue.members) {
      if (granted)
        text.add("  lock %u: held by process %s, owner %u, %s\n", lock, text.name(owner.process).c_str(),
                 owner.number, queue.exclusive ? "exclusive" : "shared");
    }
    for (Waiting const& waiting : queue.waiting)
      text.add("  lock %u: process %s, owner %u waits for it, %s\n", lock,
               text.name(waiting.request.owner.process).c_str(), waiting.request.owner.number,
               name_of(waiting.request.mode));
  }
}

}  // namespace mpixrma::engine
