#include "mpix/comm/communicator.hpp"

#include <deque>
#include <mutex>
#include <vector>

#include "mpix/runtime/runtime.hpp"

namespace mpix {

namespace {

// One thread at a time makes states. Not taken by the delete callback, which runs under MPI's own lock of
// attributes: that lock is taken inside of this one, and outside of the pool's.
std::mutex creation_lock;

std::mutex pool_lock;
std::deque<Communicator> states;  ///< never shrinks: see HandleCache
std::vector<Communicator*> unused;

Communicator& take_unused() {
  std::lock_guard const held(pool_lock);
  if (unused.empty()) unused.push_back(&states.emplace_back());
  Communicator* const state = unused.back();
  unused.pop_back();
  return *state;
}

/// Names a communicator at the engine: its state's position, from 1; 0 is left for those without one.
std::uint32_t context_of(Communicator const& state) {
  std::lock_guard const held(pool_lock);
  std::uint32_t context = 1;
  for (auto const& other : states) {
    if (&other == &state) break;
    ++context;
  }
  return context;
}

}  // namespace

HandleCache<MPI_Comm, Communicator> Communicator::cache_;

Communicator* Communicator::find_slowly(MPI_Comm comm) {
  if (prepare() != Readiness::ready) return nullptr;
  if (engine::Engine::running()->host().communicator_is_live(comm) == 0) return nullptr;
  void* attribute = nullptr;
  int found = 0;
  std::lock_guard const creating(creation_lock);
  MPI_Comm_get_attr(comm, keys().communicator, &attribute, &found);
  if (found == 0) {
    Communicator* const state = &take_unused();
    std::uint32_t const context = context_of(*state);
    state->open(comm, context);
    MPI_Comm_set_attr(comm, keys().communicator, state);
    attribute = state;
  }
  auto* const state = static_cast<Communicator*>(attribute);
  cache_.insert(*state);
  return state;
}

void Communicator::open(MPI_Comm comm, std::uint32_t context) {
  int inter = 0;
  MPI_Comm_test_inter(comm, &inter);
  inter != 0 ? MPI_Comm_remote_size(comm, &size_) : MPI_Comm_size(comm, &size_);
  context_ = context;
  attributes_.store(0, std::memory_order_relaxed);
  pages_ = std::make_unique<std::atomic<Page*>[]>(pages_count());
  comm_.store(comm, std::memory_order_release);
}

void Communicator::retire() {
  // No handle: even MPI_COMM_NULL might be looked up.
  comm_.store(reinterpret_cast<MPI_Comm>(this), std::memory_order_release);
  for_each_target([](Target& target) { delete &target; });
  for (std::size_t i = 0; i < pages_count(); ++i) delete pages_[i].load(std::memory_order_relaxed);
  pages_.reset();
  size_ = 0;
}

Target* Communicator::make_target(int rank) {
  engine::Engine& engine = *engine::Engine::running();
  std::uint64_t process = 0;
  if (engine.host().process_of_rank(handle(), rank, &process) != 0) return nullptr;
  engine::Peer* const peer = engine.peer(process);
  if (peer == nullptr) return nullptr;

  std::lock_guard const held(pool_lock);
  auto const index = static_cast<std::size_t>(rank);
  auto& page = pages_[index / page_size];
  if (page.load(std::memory_order_relaxed) == nullptr) page.store(new Page, std::memory_order_release);
  auto& entry = page.load(std::memory_order_relaxed)->targets[index % page_size];
  if (entry.load(std::memory_order_relaxed) == nullptr) {
    auto made = std::make_unique<Target>();
    made->peer = peer;
    made->rank = rank;
    made->context = context_;
    entry.store(made.release(), std::memory_order_release);
  }
  return entry.load(std::memory_order_relaxed);
}

void for_each_communicator(std::function<void(Communicator&)> const& visit) {
  std::lock_guard const held(pool_lock);
  for (auto& state : states) {
    if (state.is_open()) visit(state);
  }
}

int communicator_freed(MPI_Comm, int, void* state, void*) {
  auto* const communicator = static_cast<Communicator*>(state);
  std::lock_guard const held(pool_lock);
  communicator->retire();
  unused.push_back(communicator);
  return MPI_SUCCESS;
}

}  // namespace mpix
