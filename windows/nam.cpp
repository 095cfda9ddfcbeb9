/// Window: memory at a memory server. One process asks the server for all.
#include <algorithm>
#include <utility>

#include "windows/window.hpp"

namespace mpix::windows {

namespace {

/// Error class of what `call` throws, and why; MPI_SUCCESS.
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

/// From `root` to all: an outcome with its text, most often in one message.
int broadcast(int error_class, std::string* text, int root, MPI_Comm comm) {
  struct {
    int error_class;
    int length;
    char begin[2040];
  } told{error_class, static_cast<int>(std::min<std::size_t>(text->size(), INT32_MAX)), {}};
  constexpr int most = sizeof told.begin;
  std::copy_n(text->data(), std::min(told.length, most), told.begin);
  PMPI_Bcast(&told, sizeof told, MPI_BYTE, root, comm);
  text->resize(static_cast<std::size_t>(told.length));
  if (told.length > most) {
    PMPI_Bcast(text->data(), told.length, MPI_CHAR, root, comm);
  } else {
    std::copy_n(told.begin, told.length, text->data());
  }
  return told.error_class;
}

/// The worst of all outcomes, with its text, at all.
int agree(int error_class, std::string* text, int rank, MPI_Comm comm) {
  struct {
    int error_class;
    int rank;
  } own{error_class, rank}, worst{};
  PMPI_Allreduce(&own, &worst, 1, MPI_2INT, MPI_MAXLOC, comm);
  if (worst.error_class != MPI_SUCCESS) (void)broadcast(worst.error_class, text, worst.rank, comm);
  return worst.error_class;
}

}  // namespace

/// Collective: the first process makes it, the others join.
template <typename Make>
int Window::share_nam(MPI_Comm comm, Make make) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  std::string told;
  int error = MPI_SUCCESS;
  if (rank == 0) {
    error = outcome_of([&] { told = (nam_ = make())->description(); }, &told);
  }
  error = broadcast(error, &told, 0, comm);
  if (error == MPI_SUCCESS) {
    std::string why;
    if (rank != 0) error = outcome_of([&] { nam_ = NamWindow::join(told); }, &why);
    error = agree(error, &why, rank, comm);
    told = why;
  }
  if (error == MPI_SUCCESS) {
    hints_.tell_port(nam_->port());
    std::uint64_t const stripe = nam_->stripe_bytes();
    hints_.tell_stripe(stripe != 0 ? std::to_string(stripe) : "");
    return MPI_SUCCESS;
  }
  return refuse(error, told);
}

int Window::allocate_at_server(MPI_Comm comm) {
  int const error = share_nam(comm, [this] {
    std::vector<std::uint64_t> sizes;
    std::vector<std::uint64_t> units;
    for (RankEntry const& entry : table_.all()) {
      sizes.push_back(entry.size);
      units.push_back(static_cast<std::uint64_t>(entry.disp_unit));
    }
    bool const persistent = hints_.memory_kind() == MemoryKind::nam_persistent;
    return NamWindow::allocate(sizes, units, {persistent, hints_.durability(), hints_.stripe()});
  });
  if (error != MPI_SUCCESS && rank_ == 0) release_nam();
  return error;
}

/// The targets are the ranks of those who have made the window; the processes of `comm` are none of them.
int Window::connect(MPI_Comm comm) {
  flavor_ = MPI_WIN_FLAVOR_ALLOCATE;
  rank_ = MPI_PROC_NULL;
  PMPI_Comm_dup(comm, &origins_);
  int const error = share_nam(comm, [this] { return NamWindow::connect(hints_.port_name()); });
  if (error != MPI_SUCCESS) return error;
  size_ = nam_->ranks();
  pages_ = std::make_unique<std::atomic<Page*>[]>(page_count());
  RankEntry* const entries = table_.open(size_);
  for (int rank = 0; rank < size_; ++rank) {
    entries[rank].size = nam_->size(rank);
    entries[rank].disp_unit = nam_->disp_unit(rank);
  }
  return MPI_SUCCESS;
}

void Window::release_nam() noexcept {
  if (nam_ == nullptr) return;
  std::string ignored;  // the server has gone, and the window with it
  (void)outcome_of([this] { nam_->release(); }, &ignored);
}

void Window::persist() {
  if (nam_ == nullptr || nam_->port().empty())
    throw NamError(MPI_ERR_WIN, "the window is not a persistent one at a memory server");
  std::atomic_thread_fence(std::memory_order_seq_cst);
  nam_->persist();
}

int Window::take_nam_lock(Target& target, engine::LockMode mode, Lock held) {
  bool has_turn = may_overtake(mode);
  Target const& keeper = target.divided != nullptr ? *target.divided->parts.front() : target;
  int error = MPI_SUCCESS;
  engine_.wait_until([&] {
    std::string ignored;
    bool taken = false;
    error = outcome_of([&] { taken = nam_->try_lock(target.rank, mode, &has_turn); }, &ignored);
    if (error == MPI_SUCCESS && !taken && keeper.view.local != nullptr && keeper.view.is_gone())
      error = MPI_ERR_WIN;
    return taken || error != MPI_SUCCESS;
  });
  if (error == MPI_SUCCESS) {
    target.lock = held;
  } else {
    nam_->unlock(target.rank);
  }
  return error;
}

}  // namespace mpix::windows
