#include "engine/runtime/watches.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <new>
#include <string>

#include "engine/runtime/counters.hpp"
#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

namespace {

bool has_reached(std::uint64_t const* counter, std::uint64_t threshold) noexcept {
  // Acquire: pairs with the releasing increment, after which the operation's data is visible.
  return __atomic_load_n(counter, __ATOMIC_ACQUIRE) >= threshold;
}

/// Whether the operations are complete; then `*failure` is their failure. With the channel's lock held.
bool are_complete(Watches::Operations const& operations, Status* failure) noexcept {
  Peer& peer = *operations.peer;
  Channel& channel = channel_of(peer);
  if (operations.local)
    return peer.state().messages.is_complete_locally(operations.sequence) &&
           are_released(peer, operations.transfer);
  try {
    bool const finished = channel.message_protocol.streams.executed_or_request_ack(peer, operations.sequence);
    channel.progress_self_messages();
    if (!finished || !ended_or_start_flush(peer, operations.transfer)) return false;
    LateError const first = peer.state()
                                .messages.errors
                                .take(operations.context, LateErrors::unspecified_process,
                                      {operations.sequence, operations.transfer})
                                .first;
    if (operations.error != nullptr) *operations.error = first;
    *failure = first.status;
    return true;
  } catch (std::bad_alloc const&) {
    return false;  // not yet
  }
}

}  // namespace

std::uint64_t Watches::add(std::uint64_t const* counter, std::uint64_t threshold, Completion& completion,
                           std::int64_t index) {
  std::lock_guard const held(lock_);
  counters_.push_back({{&completion, sizeof *counter}, counter, threshold, ++newest_number_, index});
  waiting_.fetch_add(1, std::memory_order_relaxed);
  return newest_number_;
}

/// The list is sorted by number. It still contains a due wait if there was no memory to end that wait.
Completion* Watches::cancel(std::uint64_t number) {
  std::lock_guard const held(lock_);
  auto const found = std::ranges::lower_bound(counters_, number, {}, &CounterWatch::number);
  if (found == counters_.end() || found->number != number || found->due) return nullptr;
  Completion* const completion = found->completion;
  counters_.erase(found);
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  return completion;
}

void Watches::add(Operations const& operations, Completion& completion) noexcept {
  Status status = Status::ok;
  bool complete = false;
  {
    std::lock_guard const held(channel_of(*operations.peer).lock);
    complete = are_complete(operations, &status);
  }
  if (complete) return completion.done(completion, status, 0);
  try {
    std::lock_guard const held(lock_);
    operations_.push_back({{&completion, 0}, operations});
    waiting_.fetch_add(1, std::memory_order_relaxed);
  } catch (std::bad_alloc const&) {
    completion.done(completion, Status::out_of_memory, 0);
  }
}

int Watches::check_all() {
  return complete_ended(counters_,
                        [](CounterWatch& watch) { return has_reached(watch.counter, watch.threshold); }) +
         complete_ended(operations_, [](OperationsWatch& watch) {
           // Another holder of the lock makes the awaited progress.
           std::unique_lock const held(channel_of(*watch.operations.peer).lock, std::try_to_lock);
           return held.owns_lock() && are_complete(watch.operations, &watch.status);
         });
}

void Watches::settle_operations() {
  complete_ended(operations_, [](OperationsWatch& watch) {
    std::lock_guard const held(channel_of(*watch.operations.peer).lock);
    return are_complete(watch.operations, &watch.status);
  });
}

void Watches::forget(void const* begin, void const* end) {
  complete_ended(counters_, [&](CounterWatch& watch) {
    void const* const counter = watch.counter;
    bool const gone = !std::less<>{}(counter, begin) && std::less<>{}(counter, end);
    if (gone && !has_reached(watch.counter, watch.threshold)) watch.status = Status::bad_address;
    return gone;
  });
}

/// Removes the due entries and calls their completions without the lock, because they may be reused at once.
template <typename Any, typename Look>
int Watches::complete_ended(std::vector<Any>& watches, Look look) {
  std::vector<Any> ready;
  {
    std::lock_guard const held(lock_);
    for (Any& watch : watches) watch.due = watch.due || look(watch);
    // Without memory here, the list keeps its due entries, and its order; the next check tries again.
    try {
      ready.reserve(static_cast<std::size_t>(std::ranges::count_if(watches, &Any::due)));
    } catch (std::bad_alloc const&) {
      return 0;
    }
    std::ranges::copy_if(watches, std::back_inserter(ready), &Any::due);
    std::erase_if(watches, [](Any const& watch) { return watch.due; });
    waiting_.fetch_sub(ready.size(), std::memory_order_relaxed);
  }
  for (Watch const& watch : ready) watch.completion->done(*watch.completion, watch.status, watch.bytes);
  return static_cast<int>(ready.size());
}

void Watches::describe(BoundedText& text) {
  std::lock_guard const held(lock_);
  for (CounterWatch const& watch : counters_) {
    // Relaxed: the text is a snapshot.
    std::uint64_t const value = __atomic_load_n(watch.counter, __ATOMIC_RELAXED);
    std::string const index =
        watch.index != EngineCounters::no_index ? std::to_string(watch.index) + " " : std::string();
    text.add("  counter %sat %p: is %llu, waited for until it is %llu\n", index.c_str(),
             static_cast<void const*>(watch.counter), static_cast<unsigned long long>(value),
             static_cast<unsigned long long>(watch.threshold));
  }
}

}  // namespace mpixrma::engine
