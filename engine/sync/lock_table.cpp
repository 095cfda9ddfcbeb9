#include "engine/sync/lock_table.hpp"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "engine/base/liveness.hpp"
#include "engine/base/log.hpp"

namespace mpixrma::engine {

namespace {

// Maximum number of grants and queue places for any one process; further requests are rejected.
constexpr std::size_t max_members = 65536;

}  // namespace

LockTable::LockTable(Log const& log, Clock::duration overtake_delay)
    : log_(log),
      overtake_delay_(overtake_delay),
      timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {}

Status LockTable::create(std::uint32_t count, LockId* first) {
  TableGuard const visit(*this, nullptr);
  if (count == 0) return Status::bad_argument;
  if (count > max_locks) return Status::out_of_memory;
  // Uses the lowest gap, because locks with low numbers can be acquired without the agent.
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
  TableGuard const visit(*this, nullptr);
  if (count == 0 || first > max_locks || count > max_locks - first) return Status::bad_argument;
  for (LockId lock = first; lock < first + count; ++lock) {
    if (!exists(lock)) return Status::bad_argument;
  }
  for (LockId lock = first; lock < first + count; ++lock) {
    exists_[lock] = false;
    if (SharedLock* const word = shared(lock)) word->destroy();
    auto const found = queues_.find(lock);
    if (found == queues_.end()) continue;
    for (auto const& [owner, granted] : found->second.members) remove_members(owner.process, 1);
    for (Waiting const& waiting : found->second.waiting) decide(waiting.request, Status::bad_argument);
    clock_->publish(lock, 0);
    queues_.erase(found);
  }
  return Status::ok;
}

std::size_t LockTable::OwnerHash::operator()(Owner const& owner) const noexcept {
  // An odd constant (golden ratio) spreads the owners of a process, which are numbered from 0.
  constexpr std::uint64_t spread = 0x9e3779b97f4a7c15;
  return std::hash<std::uint64_t>{}(owner.process ^ (owner.number * spread));
}

void LockTable::decide(Request const& request, Status status) {
  Decisions& decisions = *request.decisions;
  decisions.decisions_.push_back({request.owner.process, request.operation_id, request.sequence, status});
  decisions.news_.store(true, std::memory_order_relaxed);
  if (&decisions != own_) decisions.wake();
}

std::vector<LockTable::Decision> LockTable::take_decisions(Decisions& own) {
  TableGuard const visit(*this, &own);
  own.news_.store(false, std::memory_order_relaxed);
  return std::exchange(own.decisions_, {});
}

/// Returns the queue, which all requests must join from here on; the end if the request is rejected.
LockTable::Queues::iterator LockTable::queue_for(LockId lock, Request const& request) {
  auto const refuse = [&](Status status) {
    decide(request, status);
    // The sender's attempt in shared memory may have held up waiting requests.
    if (auto const entry = queues_.find(lock); entry != queues_.end()) serve(entry);
    return queues_.end();
  };
  if (!exists(lock)) return refuse(Status::bad_argument);
  auto const known = members_.find(request.owner.process);
  if (known != members_.end() && known->second >= max_members) return refuse(Status::out_of_memory);
  auto const entry = queues_.try_emplace(lock).first;
  if (entry->second.members.contains(request.owner)) return refuse(Status::bad_argument);
  if (SharedLock* const word = shared(lock)) (void)word->set_queued();
  return entry;
}

bool LockTable::admits(LockId lock, Queue const& queue, LockMode mode) noexcept {
  bool const beside = mode == LockMode::shared ? !queue.exclusive : queue.grants == 0;
  SharedLock const* const word = shared(lock);
  return beside && (word == nullptr || word->admits(mode));
}

void LockTable::add(Queue& queue, Request const& request) {
  std::size_t& members = members_[request.owner.process];
  queue.members.emplace(request.owner, false);
  ++members;
}

/// Grants the lock to a member.
void LockTable::grant(Queue& queue, Request const& request) {
  queue.members.at(request.owner) = true;
  ++queue.grants;
  queue.exclusive = request.mode == LockMode::exclusive;
  decide(request, Status::ok);
}

void LockTable::remove_grants(Queue& queue, std::size_t count) noexcept {
  queue.grants -= count;
  if (queue.grants == 0) queue.exclusive = false;
}

void LockTable::remove_members(std::uint64_t process, std::size_t members) noexcept {
  auto const known = members_.find(process);
  known->second -= members;
  if (known->second == 0) members_.erase(known);
}

void LockTable::acquire(LockId lock, Request const& request) {
  TableGuard const visit(*this, request.decisions);
  auto const entry = queue_for(lock, request);
  if (entry == queues_.end()) return;
  add(entry->second, request);
  enqueue(lock, entry->second, request);
  serve(entry);
}

/// Adds a request to the queue: at the end, unless it overtakes.
void LockTable::enqueue(LockId lock, Queue& queue, Request const& request) {
  std::deque<Waiting>& waiting = queue.waiting;
  auto place = waiting.end();
  Waiting made{request};
  if (made.is_exclusive()) {
    if (std::ranges::none_of(waiting, &Waiting::is_exclusive)) clock_->announce(lock);
    made.request.time = clock_->tick();
  } else {
    // Raise the clock before choosing the place, so that no later request is earlier than this request's
    // time.
    clock_->raise(request.time);
  }
  if (request.overtakes) {
    place = std::ranges::find_if(waiting, [&](Waiting const& other) {
      return other.is_exclusive() && other.request.time >= request.time;
    });
    made.deadline = deadline_behind(waiting, static_cast<std::size_t>(place - waiting.begin()));
    // Without a timer nothing would end the wait.
    if (made.deadline != no_deadline && !timer_) {
      place = std::ranges::find_if(waiting, &Waiting::is_exclusive);
      made.deadline = no_deadline;
    }
    if (made.deadline < deadline_.load(std::memory_order_relaxed)) set_deadline(made.deadline);
  }
  waiting.insert(place, made);
}

/// Returns the deadline of a wait behind the exclusive ones of the first `end` requests.
std::int64_t LockTable::deadline_behind(std::deque<Waiting> const& waiting, std::size_t end) const noexcept {
  bool behind = false;
  unsigned passed = 0;
  for (std::size_t i = 0; i < end; ++i) {
    if (!waiting[i].is_exclusive()) continue;
    behind = true;
    passed = std::max(passed, waiting[i].passed);
  }
  if (!behind || overtake_delay_ == Clock::duration::max()) return no_deadline;
  auto const deadline = Clock::now() + overtake_delay_ * (1u << std::min(passed, max_doublings));
  return deadline.time_since_epoch().count();
}

/// Sets the earliest deadline of all requests, at which the timer becomes readable.
void LockTable::set_deadline(std::int64_t deadline) noexcept {
  deadline_.store(deadline, std::memory_order_relaxed);
  // steady_clock is CLOCK_MONOTONIC. A time of zero stops the timer, which is then not readable.
  constexpr std::int64_t second = Clock::period::den;
  static_assert(Clock::period::num == 1 && second == 1'000'000'000);
  std::int64_t const time = deadline != no_deadline ? deadline : 0;
  itimerspec const at{{}, {time / second, time % second}};
  (void)::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &at, nullptr);
}

void LockTable::admit_overtaking(Decisions& own) {
  TableGuard const visit(*this, &own);
  std::int64_t const now = Clock::now().time_since_epoch().count();
  std::int64_t next_deadline = no_deadline;
  for (auto next = queues_.begin(); next != queues_.end();) {
    auto const entry = next++;
    pass_all(entry->second, now);
    for (Waiting const& waiting : entry->second.waiting)
      next_deadline = std::min(next_deadline, waiting.deadline);
    serve(entry);
  }
  set_deadline(next_deadline);
}

/// Moves the requests whose overtake delay has ended ahead of all exclusive ones.
void LockTable::pass_all(Queue& queue, std::int64_t now) {
  std::deque<Waiting>& waiting = queue.waiting;
  auto const first = std::ranges::find_if(waiting, &Waiting::is_exclusive);
  if (std::ranges::none_of(waiting, [now](Waiting const& one) { return one.deadline <= now; })) return;
  auto const passed =
      std::stable_partition(first, waiting.end(), [now](Waiting const& one) { return one.deadline <= now; });
  // Requests ahead of every exclusive request need none either, because they overtake nobody.
  for (auto ahead = waiting.begin(); ahead != passed; ++ahead) ahead->deadline = no_deadline;
  if (passed == first) return;
  for (auto other = passed; other != waiting.end(); ++other) ++other->passed;
}

void LockTable::publish_earliest(LockId lock, Queue const& queue) noexcept {
  auto const first = std::ranges::find_if(queue.waiting, &Waiting::is_exclusive);
  clock_->publish(lock, first != queue.waiting.end() ? first->request.time : 0);
}

void LockTable::try_acquire(LockId lock, Request const& request) {
  TableGuard const visit(*this, request.decisions);
  auto const entry = queue_for(lock, request);
  if (entry == queues_.end()) return;
  Queue& queue = entry->second;
  if (queue.waiting.empty() && !admits(lock, queue, request.mode)) drop_ended(lock);
  if (queue.waiting.empty() && admits(lock, queue, request.mode)) {
    add(queue, request);
    grant(queue, request);
  } else {
    decide(request, Status::busy);
  }
  serve(entry);
}

Status LockTable::release(LockId lock, Owner const& owner, Decisions& own) {
  TableGuard const visit(*this, &own);
  auto const entry = queues_.find(lock);
  if (entry == queues_.end()) return Status::bad_argument;
  Queue& queue = entry->second;
  auto const found = queue.members.find(owner);
  if (found == queue.members.end() || !found->second) return Status::bad_argument;
  queue.members.erase(found);
  remove_grants(queue, 1);
  remove_members(owner.process, 1);
  serve(entry);
  return Status::ok;
}

Status LockTable::note_release(LockId lock, Decisions& own) {
  TableGuard const visit(*this, &own);
  if (!exists(lock)) return Status::bad_argument;
  if (auto const entry = queues_.find(lock); entry != queues_.end()) serve(entry);
  return Status::ok;
}

void LockTable::forget(std::uint64_t process, Decisions& own) {
  TableGuard const visit(*this, &own);
  bool held_some = false;
  for (auto next = queues_.begin(); next != queues_.end() && members_.contains(process);) {
    auto const entry = next++;
    Queue& queue = entry->second;
    std::size_t grants = 0;
    std::size_t const gone = std::erase_if(queue.members, [&](auto const& member) {
      bool const belongs_to_it = member.first.process == process;
      grants += belongs_to_it && member.second ? 1 : 0;
      return belongs_to_it;
    });
    if (gone == 0) continue;
    std::erase_if(queue.waiting,
                  [&](Waiting const& waiting) { return waiting.request.owner.process == process; });
    held_some = held_some || grants != 0;
    remove_grants(queue, grants);
    remove_members(process, gone);
    serve(entry);
  }
  members_.erase(process);
  std::erase_if(own.decisions_, [&](Decision const& decision) { return decision.process == process; });
  if (held_some)
    log_.write(LogLevel::error, "process %s ended while it held locks", log_.name(process).c_str());
}

bool LockTable::concerns(std::uint64_t process) const {
  std::lock_guard const held(mutex_);
  return members_.contains(process);
}

/// Grants all grantable requests in queue order. May remove the entry.
void LockTable::serve(Queues::iterator entry) {
  auto& [lock, queue] = *entry;
  while (!queue.waiting.empty() && admits(lock, queue, queue.waiting.front().request.mode)) {
    grant(queue, queue.waiting.front().request);
    queue.waiting.pop_front();
  }
  publish_earliest(lock, queue);
  if (!queue.waiting.empty()) return watch_holders(lock);
  if (queue.grants != 0) return;
  if (SharedLock* const word = shared(lock)) word->clear_queued();
  queues_.erase(entry);
}

/// Watches the holders that have acquired the lock without the agent, because the agent is not notified if
/// they die.
void LockTable::watch_holders(LockId lock) {
  SharedLock* const word = shared(lock);
  if (word == nullptr) return;
  word->for_each_holder([&](Holder holder) {
    auto const pid = pid_of(holder);
    if (!watch_.add(static_cast<std::uint64_t>(pid), pid)) return;
    watches_.store(true, std::memory_order_relaxed);
    if (own_ != nullptr) own_->news_.store(true, std::memory_order_relaxed);  // the holder may have ended
  });
}

void LockTable::drop_ended(LockId lock) noexcept {
  SharedLock* const word = shared(lock);
  if (word == nullptr) return;
  word->remove_holders_unless([this](Holder holder) {
    auto const pid = pid_of(holder);
    if (pid == own_process || process_is_alive(pid)) return true;
    log_.write(LogLevel::error, "process %d ended while it held locks", static_cast<int>(pid));
    return false;
  });
}

void LockTable::poll_holders(Decisions& own) {
  if (!watches_.load(std::memory_order_relaxed)) return;
  TableGuard const visit(*this, &own);
  bool has_ended = false;
  watch_.take_ended([&](std::uint64_t) { has_ended = true; });
  if (!has_ended) return;
  for (auto next = queues_.begin(); next != queues_.end();) {
    auto const entry = next++;
    drop_ended(entry->first);
    serve(entry);
  }
}

}  // namespace mpixrma::engine
