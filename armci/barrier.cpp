#include "armci/barrier.hpp"

#include "armci/failure.hpp"
#include "engine/base/backoff.hpp"
#include "engine/runtime/engine.hpp"
#include "include/mpix_rma/profiling.h"
#include "mpix/comm/collective.hpp"
#include "mpix/comm/communicator.hpp"
#include "mpix/runtime/process_engine.hpp"

namespace armci {

namespace {

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

}  // namespace

void Barrier::open(char const* call, MPI_Comm comm) {
  check_mpi(call, MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank_in(comm), MPI_INFO_NULL, &host_));
  Steps local;
  bool mapped = false;
  local.run([&] { mapped = map_flags(call); });
  check_collectively(call, comm, local);
  bool const together = mpixrma::agree(host_, mapped ? 0 : 1) == 0;
  if (!together) rounds_.clear();
  bool const leads = !together || rank_in(host_) == 0;
  check_mpi(call, MPI_Comm_split(comm, leads ? 0 : MPI_UNDEFINED, rank_in(comm), &leaders_));
  int const leader_count = leads ? mpixrma::size_of(leaders_) : 0;
  several_hosts_ = mpixrma::agree(comm, leader_count) > 1;
}

/// Maps the flags of those processes of this host that this process signals. Returns whether it can write all
/// of these flags.
bool Barrier::map_flags(char const* call) {
  int const size = mpixrma::size_of(host_);
  int const rank = rank_in(host_);
  int rounds = 0;
  while (1 << rounds < size) ++rounds;
  if (rounds == 0) return true;
  std::size_t const bytes = static_cast<std::size_t>(rounds) * sizeof(Flag);
  std::vector<void*> bases(static_cast<std::size_t>(size));
  if (PMPIX_RMA_Allocate(static_cast<MPI_Aint>(bytes), MPI_INFO_NULL, host_, nullptr, bases.data()) !=
      MPI_SUCCESS) {
    fail(call, "the %zu bytes of the barrier are not available", bytes);
  }
  flags_ = bases[static_cast<std::size_t>(rank)];
  auto* const mine = static_cast<Flag*>(flags_);
  for (int round = 0; round < rounds; ++round) mine[round].reached.store(0, std::memory_order_relaxed);
  mpixrma::Communicator* const processes = mpixrma::Communicator::find(host_);
  bool reachable = processes != nullptr;
  for (int round = 0; reachable && round < rounds; ++round) {
    int const behind = (rank - (1 << round) + size) % size;
    mpixrma::Target* const target = processes->target(behind);
    auto const base = reinterpret_cast<mpixrma::RemoteAddress>(bases[static_cast<std::size_t>(behind)]);
    std::byte* const theirs = target != nullptr
                                  ? mpixrma::engine_of_process().peer_memory.map(*target->peer, base, bytes)
                                  : nullptr;
    reachable = theirs != nullptr;
    if (reachable) rounds_.push_back({reinterpret_cast<Flag*>(theirs) + round, mine + round});
  }
  return reachable;
}

void Barrier::close() {
  if (host_ == MPI_COMM_NULL) return;
  if (mpixrma::size_of(host_) > 1) (void)PMPIX_RMA_Free(flags_, host_);
  if (leaders_ != MPI_COMM_NULL) MPI_Comm_free(&leaders_);
  MPI_Comm_free(&host_);
  *this = Barrier{};
}

void Barrier::wait() {
  wait_on_host();
  if (!several_hosts_) return;
  if (leaders_ != MPI_COMM_NULL) MPI_Barrier(leaders_);
  wait_on_host();
}

void Barrier::wait_on_host() {
  mpixrma::engine::Engine& engine = mpixrma::engine_of_process();
  // Polls about as long as a running process takes to arrive; not at all if that process may need this core.
  int const looks = engine.waits.yields_when_idle() ? 0 : 200;
  ++reached_;
  for (Round const& round : rounds_) {
    round.theirs->reached.store(reached_, std::memory_order_release);
    auto const arrived = [&] { return round.mine->reached.load(std::memory_order_acquire) >= reached_; };
    for (int i = 0; i < looks && !arrived(); ++i) mpixrma::engine::cpu_relax();
    if (!arrived()) engine.waits.until(arrived);
  }
}

}  // namespace armci
