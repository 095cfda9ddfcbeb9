#include "engine/agent/lock_table.hpp"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "engine/log.hpp"
#include "engine/peer/liveness.hpp"

namespace mpix::engine {

namespace {

// Grants and places in queues that this process keeps for others; beyond, they are refused.
constexpr std::size_t max_members = 65536;

}  // namespace

Status LockTable::create(std::uint32_t count, LockId* first) {
  Visit const visit(*this, nullptr);
  if (count == 0) return Status::bad_argument;
  if (count > max_locks) return Status::out_of_memory;
  // The lowest gap: locks with low numbers can be taken without the agent.
  auto begin = exists_.begin();
  std::size_t room = 0;
  for (;;) {
    begin = std::find(begin, exists_.end(), false);
    auto const end = std::find(begin, exists_.end(), true);
    room = static_cast<std::size_t>(end - begin);
    if (room >= count || end == exists_.end()) break;
    begin = end;
  }
  auto const number = static_cast<std::size_t>(begin - exists_.begin());
  if (number + count > max_locks) return Status::out_of_memory;
  if (room < count) exists_.resize(number + count);
  *first = static_cast<LockId>(number);
  for (LockId lock = *first; lock < *first + count; ++lock) {
    exists_[lock] = true;
    if (SharedLock* const word = shared(lock)) word->create();
  }
  return Status::ok;
}

Status LockTable::destroy(LockId first, std::uint32_t count) {
  Visit const visit(*this, nullptr);
  if (count == 0 || first > max_locks || count > max_locks - first) return Status::bad_argument;
  for (LockId lock = first; lock < first + count; ++lock) {
    if (!exists(lock)) return Status::bad_argument;
  }
  for (LockId lock = first; lock < first + count; ++lock) {
    exists_[lock] = false;
    if (SharedLock* const word = shared(lock)) word->destroy();
    auto const found = queues_.find(lock);
    if (found == queues_.end()) continue;
    members_ -= found->second.grants.size() + found->second.waiting.size();
    for (Request const& request : found->second.waiting) answer(request, Status::bad_argument);
    queues_.erase(found);
  }
  return Status::ok;
}

void LockTable::answer(Request const& request, Status status) {
  Mailbox& mailbox = *request.answers;
  mailbox.answers_.push_back({request.owner.process, request.token, request.position, status});
  mailbox.news_.store(true, std::memory_order_relaxed);
  if (&mailbox != own_) mailbox.wake();
}

std::vector<LockTable::Answer> LockTable::take_answers(Mailbox& own) {
  Visit const visit(*this, &own);
  own.news_.store(false, std::memory_order_relaxed);
  return std::exchange(own.answers_, {});
}

/// The queue to which everybody has to come from here on; the end when the request is refused.
LockTable::Queues::iterator LockTable::queue_for(LockId lock, Request const& request) {
  auto const refuse = [&](Status status) {
    answer(request, status);
    // Its sender may have been in the way of those who wait.
    if (auto const entry = queues_.find(lock); entry != queues_.end()) serve(entry);
    return queues_.end();
  };
  if (!exists(lock)) return refuse(Status::bad_argument);
  if (members_ >= max_members) return refuse(Status::out_of_memory);
  auto const entry = queues_.try_emplace(lock).first;
  auto const is_owner = [&](auto const& member) { return member.owner == request.owner; };
  Queue const& queue = entry->second;
  if (std::ranges::any_of(queue.grants, is_owner) || std::ranges::any_of(queue.waiting, is_owner))
    return refuse(Status::bad_argument);
  if (SharedLock* const word = shared(lock)) (void)word->set_queued();
  return entry;
}

bool LockTable::admits(LockId lock, Queue const& queue, LockMode mode) noexcept {
  auto const shares = [](Grant const& grant) { return grant.mode == LockMode::shared; };
  bool const beside =
      mode == LockMode::shared ? std::ranges::all_of(queue.grants, shares) : queue.grants.empty();
  SharedLock const* const word = shared(lock);
  return beside && (word == nullptr || word->admits(mode));
}

void LockTable::grant(Queue& queue, Request const& request) {
  queue.grants.push_back({request.owner, request.mode});
  ++members_;
  answer(request, Status::ok);
}

void LockTable::acquire(LockId lock, Request const& request) {
  Visit const visit(*this, request.answers);
  auto const entry = queue_for(lock, request);
  if (entry == queues_.end()) return;
  std::deque<Request>& waiting = entry->second.waiting;
  auto const place =
      request.overtakes ? std::ranges::find(waiting, false, &Request::overtakes) : waiting.end();
  waiting.insert(place, request);
  ++members_;
  serve(entry);
}

void LockTable::try_acquire(LockId lock, Request const& request) {
  Visit const visit(*this, request.answers);
  auto const entry = queue_for(lock, request);
  if (entry == queues_.end()) return;
  Queue& queue = entry->second;
  if (queue.waiting.empty() && !admits(lock, queue, request.mode)) drop_ended(lock);
  if (queue.waiting.empty() && admits(lock, queue, request.mode)) {
    grant(queue, request);
  } else {
    answer(request, Status::busy);
  }
  serve(entry);
}

Status LockTable::release(LockId lock, Owner const& owner, Mailbox& own) {
  Visit const visit(*this, &own);
  auto const entry = queues_.find(lock);
  if (entry == queues_.end()) return Status::bad_argument;
  std::vector<Grant>& grants = entry->second.grants;
  auto const found = std::ranges::find(grants, owner, &Grant::owner);
  if (found == grants.end()) return Status::bad_argument;
  grants.erase(found);
  --members_;
  serve(entry);
  return Status::ok;
}

Status LockTable::look(LockId lock, Mailbox& own) {
  Visit const visit(*this, &own);
  if (!exists(lock)) return Status::bad_argument;
  if (auto const entry = queues_.find(lock); entry != queues_.end()) serve(entry);
  return Status::ok;
}

void LockTable::forget(std::uint64_t process, Mailbox& own) {
  Visit const visit(*this, &own);
  auto const its = [&](auto const& member) { return member.owner.process == process; };
  bool held_some = false;
  for (auto next = queues_.begin(); next != queues_.end();) {
    auto const entry = next++;
    std::size_t const grants = std::erase_if(entry->second.grants, its);
    std::size_t const gone = grants + std::erase_if(entry->second.waiting, its);
    if (gone == 0) continue;
    held_some = held_some || grants != 0;
    members_ -= gone;
    serve(entry);
  }
  std::erase_if(own.answers_, [&](Answer const& answer) { return answer.process == process; });
  if (held_some)
    log_.write(LogLevel::error, "process %llx ended while it held locks",
               static_cast<unsigned long long>(process));
}

bool LockTable::concerns(std::uint64_t process) const {
  std::lock_guard const held(mutex_);
  auto const its = [&](auto const& member) { return member.owner.process == process; };
  return std::ranges::any_of(queues_, [&](auto const& entry) {
    return std::ranges::any_of(entry.second.grants, its) || std::ranges::any_of(entry.second.waiting, its);
  });
}

/// Lets in whoever may be, in the order of arrival. The entry may go.
void LockTable::serve(Queues::iterator entry) {
  auto& [lock, queue] = *entry;
  while (!queue.waiting.empty() && admits(lock, queue, queue.waiting.front().mode)) {
    grant(queue, queue.waiting.front());
    queue.waiting.pop_front();
    --members_;
  }
  if (!queue.waiting.empty()) return watch_holders(lock);
  if (!queue.grants.empty()) return;
  if (SharedLock* const word = shared(lock)) word->clear_queued();
  queues_.erase(entry);
}

/// Somebody waits for those who have taken the lock without the agent: nobody tells when they end.
void LockTable::watch_holders(LockId lock) {
  SharedLock* const word = shared(lock);
  if (word == nullptr) return;
  word->keep_if([&](Holder holder) {
    auto const pid = pid_of(holder);
    if (!watch_.add(static_cast<std::uint64_t>(pid), pid)) return true;
    watches_.store(true, std::memory_order_relaxed);
    if (own_ != nullptr) own_->news_.store(true, std::memory_order_relaxed);  // it may have ended before
    return true;
  });
}

void LockTable::drop_ended(LockId lock) noexcept {
  SharedLock* const word = shared(lock);
  if (word == nullptr) return;
  word->keep_if([this](Holder holder) {
    auto const pid = pid_of(holder);
    if (pid == own_process || process_is_alive(pid)) return true;
    log_.write(LogLevel::error, "process %d ended while it held locks", static_cast<int>(pid));
    return false;
  });
}

void LockTable::look_at_holders(Mailbox& own) {
  if (!watches_.load(std::memory_order_relaxed)) return;
  Visit const visit(*this, &own);
  if (watch_.take_ended().empty()) return;
  for (auto next = queues_.begin(); next != queues_.end();) {
    auto const entry = next++;
    drop_ended(entry->first);
    serve(entry);
  }
}

}  // namespace mpix::engine
