#include "mpix/comm/communicator.hpp"

#include <mutex>

#include "datatype/state_pool.hpp"
#include "mpix/comm/freeing.hpp"
#include "mpix/comm/keyvals.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/runtime.hpp"

namespace mpixrma {

namespace {

// Serializes the creation of states. The delete callback does not take this lock, because it runs under MPI's
// attribute lock. Lock order: this lock, MPI's lock, the pool's lock.
std::mutex creation_lock;

StatePool<Communicator> communicator_pool;

// Identifies a communicator in the engine and in handles that outlive it; 0 means an operation without a
// communicator.
std::uint32_t next_context = 1;

}  // namespace

HandleCache<MPI_Comm, Communicator> Communicator::cache_;

Communicator* Communicator::find_existing(MPI_Comm comm) {
  if (Communicator* const known = find_known(comm)) return known;
  // In a program on windows alone no communicator has a state.
  if (!is_prepared()) return nullptr;
  void* attribute = nullptr;
  int found = 0;
  MPI_Comm_get_attr(comm, keys().communicator, &attribute, &found);
  return found != 0 ? static_cast<Communicator*>(attribute) : nullptr;
}

Communicator* Communicator::find_slow_path(MPI_Comm comm) {
  if (prepare() != Readiness::ready) return nullptr;
  if (!Freeing::is_in_progress(comm) && host().communicator_is_live(word_of(comm)) == 0) return nullptr;
  if (Communicator* const kept = Freeing::kept(comm)) return kept;
  void* attribute = nullptr;
  int found = 0;
  std::lock_guard const creating(creation_lock);
  MPI_Comm_get_attr(comm, keys().communicator, &attribute, &found);
  if (found == 0) {
    Communicator* const state = &communicator_pool.take();
    state->open(comm, next_context++);
    if (Freeing::keep(comm, *state)) return state;
    PMPI_Comm_set_attr(comm, keys().communicator, state);
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
  context_.store(context, std::memory_order_relaxed);
  attribute_word_.store(attributes_outdated, std::memory_order_relaxed);
  pages_ = std::make_unique<std::atomic<Page*>[]>(pages_count());
  comm_.publish(comm);
  (void)attributes();  // until then the word is marked outdated
}

void Communicator::keep_failure(std::uint32_t context, engine::LateError const& error) noexcept {
  engine::EngineFailures& failures = engine_of_process().failures;
  std::lock_guard const held(retiring_lock_);
  Target* const target = this->context() == context ? known_target(error.rank) : nullptr;
  if (target == nullptr) return failures.keep(context, error);
  failures.keep(context, error, target->peer->process());
  target->outstanding.raise(1);  // else completion calls would find nothing to do
}

void Communicator::retire() {
  comm_.withdraw();
  {
    std::lock_guard const held(retiring_lock_);
    context_.store(0, std::memory_order_relaxed);
  }
  engine::Engine* const engine = hosted_engine();
  for_each_target([&](Target& target) {
    if (engine != nullptr && engine->is_of_this_process()) engine->peers.release(*target.peer);
    delete &target;
  });
  for (std::size_t i = 0; i < pages_count(); ++i) delete pages_[i].load(std::memory_order_relaxed);
  pages_.reset();
  size_ = 0;
  counters_.drop();
}

std::atomic<Target*>& Communicator::entry_of(int rank) {
  std::lock_guard const held(communicator_pool.lock());
  auto const index = static_cast<std::size_t>(rank);
  auto& page = pages_[index / page_size];
  if (page.load(std::memory_order_relaxed) == nullptr) page.store(new Page, std::memory_order_release);
  return page.load(std::memory_order_relaxed)->targets[index % page_size];
}

Target* Communicator::make_target(int rank) {
  engine::Engine& engine = engine_of_process();
  std::uint64_t process = 0;
  if (host().process_of_rank(word_of(handle()), rank, &process) != 0) return nullptr;
  // All memory before the peer gets a user.
  auto made = std::make_unique<Target>();
  auto& entry = entry_of(rank);
  engine::Peer* const peer = engine.peers.find(process);
  if (peer == nullptr) return nullptr;

  std::lock_guard const held(communicator_pool.lock());
  if (entry.load(std::memory_order_relaxed) == nullptr) {
    made->peer = peer;
    made->rank = rank;
    made->context = context();
    entry.store(made.release(), std::memory_order_release);
  } else {
    engine.peers.release(*peer);  // another thread was faster
  }
  return entry.load(std::memory_order_relaxed);
}

MPIX_RMA_Attributes Communicator::attributes() {
  std::lock_guard const held(attributes_lock_);
  while ((attribute_word() & attributes_outdated) != 0) {
    // Sequentially consistent, as are the store and the load below and the accesses in outdate_attributes():
    // either this loop sees that a change was counted, or outdate_attributes() sets its mark after the word
    // is stored here.
    auto const changes = attribute_changes_.load(std::memory_order_seq_cst);
    attributes_ = read_attributes(handle());
    attribute_word_.store(attributes_.set, std::memory_order_seq_cst);
    attributes_.set &= ~attributes_outdated;
    // A concurrent change may or may not have been read.
    if (attribute_changes_.load(std::memory_order_seq_cst) == changes) break;
    attribute_word_.fetch_or(attributes_outdated, std::memory_order_relaxed);
  }
  return attributes_;
}

void Communicator::outdate_attributes() noexcept {
  attribute_changes_.fetch_add(1, std::memory_order_seq_cst);
  attribute_word_.fetch_or(attributes_outdated, std::memory_order_seq_cst);
}

void for_each_communicator(std::function<void(Communicator&)> const& visit) {
  communicator_pool.for_each([&](Communicator& state) {
    if (state.is_open()) visit(state);
  });
}

void Communicator::give_back(Communicator& state) {
  forget_handles();
  communicator_pool.give_back(state, [](Communicator& communicator) { communicator.retire(); });
}

void Communicator::hide(Communicator& state) noexcept {
  cache_.remove(state);
  forget_handles();
}

int communicator_freed(MPI_Comm comm, int, void* attribute, void*) try {
  auto& state = *static_cast<Communicator*>(attribute);
  if (!Freeing::keep(comm, state)) Communicator::give_back(state);
  return MPI_SUCCESS;
} catch (...) {
  return code_of_exception();
}

}  // namespace mpixrma
