#include "mpi-windows/creation/served_window.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "mpi-windows/state/nam_error_class.hpp"

namespace mpixrma::windows {

namespace {

/// The result of one process's attempt to create or join the window.
struct Outcome {
  int error_class = MPI_SUCCESS;
  std::uint32_t mapping_id = 0;  ///< as in NamWindow
  std::string text;              ///< description of the window, or error text
};

/// Broadcasts from `root`, usually in one message.
void broadcast(Outcome* outcome, int root, MPI_Comm comm) {
  struct {
    int error_class;
    std::uint32_t mapping_id;
    int length;
    char begin[2036];
  } message{outcome->error_class,
            outcome->mapping_id,
            static_cast<int>(std::min<std::size_t>(outcome->text.size(), INT32_MAX)),
            {}};
  constexpr int max_begin = sizeof message.begin;
  std::copy_n(outcome->text.data(), std::min(message.length, max_begin), message.begin);
  PMPI_Bcast(&message, sizeof message, MPI_BYTE, root, comm);
  outcome->error_class = message.error_class;
  outcome->mapping_id = message.mapping_id;
  outcome->text.resize(static_cast<std::size_t>(message.length));
  if (message.length > max_begin) {
    PMPI_Bcast(outcome->text.data(), message.length, MPI_CHAR, root, comm);
  } else {
    std::copy_n(message.begin, message.length, outcome->text.data());
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
  auto const maps = [=](RankEntry const& entry) { return entry.lock_or_mapping_id == grants; };
  return grants != 0 && table.begin() != table.end() && std::ranges::all_of(table, maps);
}

/// Collective: the first process creates the window or connects to it, the others join. If all processes
/// already map the grants, joining cannot fail and needs no agreement. The call note_mapped(0) discards the
/// record of mapped grants first, so that no process relies on the record after a failure. `adopt` takes what
/// the window needs of `window.nam`, before the agreement, because it may lack memory.
template <typename Make, typename Adopt>
int share_nam(Window& window, MPI_Comm comm, Make make, Adopt adopt) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  Outcome made;
  auto const describe = [&] {
    window.nam = make();
    adopt();
    made.text = window.nam->description();
    made.mapping_id = window.nam->mapping_id();
  };
  NamWindow::note_mapped(0);
  if (rank == 0) made.error_class = error_class_of_call(describe, &made.text);
  broadcast(&made, 0, comm);
  if (made.error_class != MPI_SUCCESS) return refuse(made.error_class, made.text);
  bool const is_mapped = all_map(window.table, made.mapping_id);
  Outcome joined;
  auto const join = [&] {
    window.nam = NamWindow::join(made.text, {.is_mapped = is_mapped, .encrypt = window.hints.encrypt()});
    adopt();
  };
  if (rank != 0) joined.error_class = error_class_of_call(join, &joined.text);
  if (!is_mapped) agree(&joined, rank, comm);
  if (joined.error_class != MPI_SUCCESS) return refuse(joined.error_class, joined.text);
  NamWindow::note_mapped(window.nam->mapping_id());
  return MPI_SUCCESS;
}

void adopt_hints(Window& window) {
  window.hints.set_port(window.nam->port());
  std::uint64_t const chunk = window.nam->chunk_bytes();
  window.hints.set_chunk_size(chunk != 0 ? std::to_string(chunk) : "");
}

}  // namespace

int allocate_at_server(Window& window, MPI_Comm comm) {
  auto const allocate = [&window] {
    std::vector<std::uint64_t> sizes;
    std::vector<std::uint64_t> units;
    for (RankEntry const& entry : window.table) {
      sizes.push_back(entry.size);
      units.push_back(static_cast<std::uint64_t>(entry.disp_unit));
    }
    bool const persistent = window.hints.memory_kind() == MemoryKind::nam_persistent;
    return NamWindow::allocate(
        sizes, units,
        {persistent, window.hints.durability(), window.hints.mode(), window.hints.chunk_size(),
         window.table.is_one_host(), window.hints.encrypt()});
  };
  int const error = share_nam(window, comm, allocate, [&window] { adopt_hints(window); });
  if (error != MPI_SUCCESS && window.processes.rank == 0) release_nam(window);
  return error;
}

int connect_window(Window& window, MPI_Comm comm) {
  window.memory.flavor = MPI_WIN_FLAVOR_ALLOCATE;
  window.processes.rank = MPI_PROC_NULL;
  PMPI_Comm_dup(comm, &window.processes.connected_comm);
  auto const connect = [&window] {
    return NamWindow::connect(window.hints.port_name(), {window.hints.encrypt(), window.hints.follow()});
  };
  auto const adopt = [&window] {
    adopt_hints(window);
    window.processes.size = window.nam->ranks();
    window.targets.open(window.processes.size);
    RankEntry* const entries = window.table.open(window.processes.size);
    for (int rank = 0; rank < window.processes.size; ++rank) {
      entries[rank].size = window.nam->size(rank);
      entries[rank].disp_unit = window.nam->disp_unit(rank);
    }
  };
  return share_nam(window, comm, connect, adopt);
}

int fail_to_connect(MPI_Comm comm, int error_class) {
  MPI_Comm copy = MPI_COMM_NULL;
  PMPI_Comm_dup(comm, &copy);
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  NamWindow::note_mapped(0);
  Outcome const own{error_class, 0, "out of memory"};  // short enough to need no allocation
  Outcome agreed = own;
  broadcast(&agreed, 0, comm);
  if (agreed.error_class == MPI_SUCCESS) {
    agreed = own;
    agree(&agreed, rank, comm);
  }
  PMPI_Comm_free(&copy);
  return refuse(agreed.error_class, agreed.text);
}

void release_nam(Window& window) noexcept {
  if (window.nam == nullptr) return;
  std::string ignored;  // the server may have ended, and the window with it
  (void)error_class_of_call([&window] { window.nam->release(); }, &ignored);
}

void persist(Window& window) {
  if (window.nam == nullptr || window.nam->port().empty())
    throw NamError(MPI_ERR_WIN, "not a persistent window at a memory server");
  std::atomic_thread_fence(std::memory_order_seq_cst);
  window.nam->persist();
}

}  // namespace mpixrma::windows
