/// Window: memory at a memory server. One process sends the request to the server for all processes.
#include <algorithm>
#include <atomic>
#include <utility>

#include "mpi-windows/state/window.hpp"

namespace mpixrma::windows {

namespace {

/// Number of locks at memory servers that the windows of this process hold.
std::atomic<std::size_t> nam_locks_held{0};

/// Calls `call` and returns the error class of its exception, with the text, or MPI_SUCCESS.
template <typename Call>
int outcome_of(Call call, std::string* text) {
  try {
    call();
    return MPI_SUCCESS;
  } catch (NamError const& error) {
    *text = error.what();
    return error.error_class();
  } catch (std::exception const& error) {
    *text = error.what();
    return class_of_exception();
  }
}

/// The result of one process's attempt to create or join the window.
struct Outcome {
  int error_class = MPI_SUCCESS;
  std::uint32_t mapped_in = 0;  ///< as of NamWindow
  std::string text;             ///< description of the window, or error text
};

/// Broadcasts from `root`, usually in one message.
void broadcast(Outcome* outcome, int root, MPI_Comm comm) {
  struct {
    int error_class;
    std::uint32_t mapped_in;
    int length;
    char begin[2036];
  } told{outcome->error_class,
         outcome->mapped_in,
         static_cast<int>(std::min<std::size_t>(outcome->text.size(), INT32_MAX)),
         {}};
  constexpr int most = sizeof told.begin;
  std::copy_n(outcome->text.data(), std::min(told.length, most), told.begin);
  PMPI_Bcast(&told, sizeof told, MPI_BYTE, root, comm);
  outcome->error_class = told.error_class;
  outcome->mapped_in = told.mapped_in;
  outcome->text.resize(static_cast<std::size_t>(told.length));
  if (told.length > most) {
    PMPI_Bcast(outcome->text.data(), told.length, MPI_CHAR, root, comm);
  } else {
    std::copy_n(told.begin, told.length, outcome->text.data());
  }
}

/// Makes the worst outcome of all processes, with its text, known to all.
void agree(Outcome* outcome, int rank, MPI_Comm comm) {
  struct {
    int error_class;
    int rank;
  } own{outcome->error_class, rank}, worst{};
  PMPI_Allreduce(&own, &worst, 1, MPI_2INT, MPI_MAXLOC, comm);
  outcome->error_class = worst.error_class;
  if (worst.error_class != MPI_SUCCESS) broadcast(outcome, worst.rank, comm);
}

/// Returns whether all processes have reported that they map these grants.
bool all_map(RankTable const& table, std::uint32_t grants) {
  auto const maps = [=](RankEntry const& entry) { return entry.lock == grants; };
  return grants != 0 && table.begin() != table.end() && std::ranges::all_of(table, maps);
}

}  // namespace

/// Collective: the first process creates the window, the others join. If all processes already map the
/// grants, joining cannot fail and needs no agreement. After a failure no process relies on that state.
template <typename Make>
int Window::share_nam(MPI_Comm comm, Make make) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  Outcome made;
  auto const describe = [&] {
    nam_ = make();
    made.text = nam_->description();
    made.mapped_in = nam_->mapped_in();
  };
  NamWindow::note_mapped(0);
  if (rank == 0) made.error_class = outcome_of(describe, &made.text);
  broadcast(&made, 0, comm);
  if (made.error_class != MPI_SUCCESS) return refuse(made.error_class, made.text);
  bool const is_mapped = all_map(table_, made.mapped_in);
  Outcome joined;
  auto const join = [&] { nam_ = NamWindow::join(made.text, is_mapped, hints_.encrypt()); };
  if (rank != 0) joined.error_class = outcome_of(join, &joined.text);
  if (!is_mapped) agree(&joined, rank, comm);
  if (joined.error_class != MPI_SUCCESS) return refuse(joined.error_class, joined.text);
  NamWindow::note_mapped(nam_->mapped_in());
  hints_.tell_port(nam_->port());
  std::uint64_t const stripe = nam_->stripe_bytes();
  hints_.tell_stripe(stripe != 0 ? std::to_string(stripe) : "");
  return MPI_SUCCESS;
}

int Window::allocate_at_server(MPI_Comm comm) {
  int const error = share_nam(comm, [this] {
    std::vector<std::uint64_t> sizes;
    std::vector<std::uint64_t> units;
    for (RankEntry const& entry : table_) {
      sizes.push_back(entry.size);
      units.push_back(static_cast<std::uint64_t>(entry.disp_unit));
    }
    bool const persistent = hints_.memory_kind() == MemoryKind::nam_persistent;
    auto const is_here = [](RankEntry const& entry) { return entry.host == own_host(); };
    bool const one_host = std::ranges::all_of(table_, is_here);
    return NamWindow::allocate(
        sizes, units,
        {persistent, hints_.durability(), hints_.mode(), hints_.stripe(), one_host, hints_.encrypt()});
  });
  if (error != MPI_SUCCESS && processes_.rank == 0) release_nam();
  return error;
}

/// The targets are the ranks of the processes that created the window; the processes of `comm` are not
/// targets.
int Window::connect(MPI_Comm comm) {
  memory_.flavor = MPI_WIN_FLAVOR_ALLOCATE;
  processes_.rank = MPI_PROC_NULL;
  PMPI_Comm_dup(comm, &processes_.origins);
  int const error = share_nam(comm, [this] {
    return NamWindow::connect(hints_.port_name(), {hints_.encrypt(), hints_.follow()});
  });
  if (error != MPI_SUCCESS) return error;
  processes_.size = nam_->ranks();
  targets_.open(processes_.size);
  RankEntry* const entries = table_.open(processes_.size);
  for (int rank = 0; rank < processes_.size; ++rank) {
    entries[rank].size = nam_->size(rank);
    entries[rank].disp_unit = nam_->disp_unit(rank);
  }
  return MPI_SUCCESS;
}

void Window::release_nam() noexcept {
  if (nam_ == nullptr) return;
  std::string ignored;  // the server is gone, and the window with it
  (void)outcome_of([this] { nam_->release(); }, &ignored);
}

void Window::persist() {
  if (nam_ == nullptr || nam_->port().empty())
    throw NamError(MPI_ERR_WIN, "not a persistent window at a memory server");
  std::atomic_thread_fence(std::memory_order_seq_cst);
  nam_->persist();
}

void Window::request_nam_lock(Target& target) {
  target.queue->nam_wait.emplace(cold_->nam_patience, target.rank, target.queue->request.mode);
}

/// Tries to take the lock. Returns whether it was taken or cannot be had.
bool Window::has_nam_lock(Target& target) {
  TargetQueue& queue = *target.queue;
  engine::LockMode const mode = queue.request.mode;
  auto const holds_others = [] {
    engine::LockRequest asked;
    std::uint64_t none = 0;
    held_locks.describe(0, &none, &asked);
    // Relaxed: the waiting thread itself has counted the locks that it holds.
    return asked.overtakes || nam_locks_held.load(std::memory_order_relaxed) != 0;
  };
  auto const attempt = [&](bool* has_turn) { return nam_->try_lock(target.rank, mode, has_turn); };
  std::string reason;
  bool taken = false;
  int error = outcome_of([&] { taken = queue.nam_wait->attempt(attempt, holds_others); }, &reason);
  if (error != MPI_SUCCESS) error = code_with(error, "cannot lock rank %d: %s", target.rank, reason.c_str());
  Target const& keeper = target.divided != nullptr ? *target.divided->parts.front() : target;
  if (error == MPI_SUCCESS && !taken && keeper.view.local != nullptr && keeper.view.is_gone())
    error = MPI_ERR_WIN;
  if (taken) {
    target.lock = mode == engine::LockMode::exclusive ? Lock::exclusive : Lock::shared;
    nam_locks_held.fetch_add(1, std::memory_order_relaxed);
  } else if (error != MPI_SUCCESS) {
    nam_->unlock(target.rank);
    queue.refused = engine::Status::access_denied;
    queue.refusal = error;
  }
  return taken || error != MPI_SUCCESS;
}

void Window::give_back_nam_lock(Target& target) noexcept {
  nam_->unlock(target.rank);
  nam_locks_held.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace mpixrma::windows
