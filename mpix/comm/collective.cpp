#include "mpix/comm/collective.hpp"

#include "mpix/runtime/runtime.hpp"

namespace mpixrma {

namespace {

/// The library's error classes may have different numbers at other processes.
constexpr int wire_address = 1 << 30;
constexpr int wire_transport = wire_address + 1;
static_assert(no_engine_class == wire_transport + 1);

struct ClassAt {
  int error_class;
  int rank;
};

ClassAt largest(MPI_Comm comm, ClassAt mine) {
  ClassAt found{};
  PMPI_Allreduce(&mine, &found, 1, MPI_2INT, MPI_MAXLOC, comm);
  return found;
}

}  // namespace

int wire_class(int error_class) noexcept {
  if (error_class <= MPI_ERR_LASTCODE) return error_class;
  if (error_class == keys().address_class) return wire_address;
  return error_class == keys().transport_class ? wire_transport : error_class;
}

Verdict verdict_of(int wire, int rank) noexcept {
  if (wire == wire_address) return {keys().address_class, rank};
  bool const no_engine = wire == no_engine_class;
  return {wire == wire_transport || no_engine ? keys().transport_class : wire, rank, no_engine};
}

Verdict agree_on_class(MPI_Comm comm, int error_class) {
  ClassAt mine{wire_class(error_class), MPI_PROC_NULL};
  PMPI_Comm_rank(comm, &mine.rank);
  ClassAt worst = largest(comm, mine);
  if (is_intercommunicator(comm)) {
    // On an intercommunicator each group receives the other group's result; the second reduction brings a
    // group its own result back.
    ClassAt const both{std::max(mine.error_class, worst.error_class), MPI_PROC_NULL};
    worst = {std::max(both.error_class, largest(comm, both).error_class), MPI_PROC_NULL};
  }
  return verdict_of(worst.error_class, worst.rank);
}

int raise_agreed(Site const& site, Failure const& own, Verdict const& verdict) {
  if (verdict.error_class == MPI_SUCCESS) return MPI_SUCCESS;
  if (own.error_class == verdict.error_class) return raise(site, own);
  char words[MPI_MAX_ERROR_STRING] = "the library (in Open MPI the component osc/mpix) did not start there";
  int length = 0;
  if (!verdict.no_engine) PMPI_Error_string(verdict.error_class, words, &length);
  if (verdict.rank == MPI_PROC_NULL)
    return raise(site, verdict.error_class, "the call failed at another process: %s", words);
  return raise(site, verdict.error_class, "the call failed at rank %d: %s", verdict.rank, words);
}

}  // namespace mpixrma
