#include "hosts/public-mpi/operations.hpp"

#include <mpi.h>

#include "datatype/handle.hpp"
#include "hosts/public-mpi/exchange.hpp"
#include "hosts/public-mpi/host.hpp"
#include "hosts/public-mpi/requests.hpp"

namespace mpixrma::host {

namespace {

/// Called once for each rank that the process communicates with, and by queries of statistics.
int process_of_rank(mpix_handle_t number, int rank, std::uint64_t* process) {
  auto const comm = handle_from<MPI_Comm>(number);
  int inter = 0;
  PMPI_Comm_test_inter(comm, &inter);
  MPI_Group group = MPI_GROUP_NULL;
  inter != 0 ? PMPI_Comm_remote_group(comm, &group) : PMPI_Comm_group(comm, &group);
  int size = 0;
  PMPI_Group_size(group, &size);
  *process = rank >= 0 && rank < size ? addresses_of_job()->process_at(group, rank) : 0;
  PMPI_Group_free(&group);
  return *process != 0 ? 0 : -1;
}

/// MPI_Pack rejects an uncommitted datatype even for zero elements.
int datatype_is_committed(mpix_handle_t number) {
  char room = 0;
  int position = 0;
  return PMPI_Pack(&room, 0, handle_from<MPI_Datatype>(number), &room, 0, &position, communicators().self) ==
                 MPI_SUCCESS
             ? 1
             : 0;
}

}  // namespace

mpix_host_ops const& host_operations() noexcept {
  static mpix_host_ops const operations = [] {
    mpix_host_ops ops{};  // functions that this host does not implement stay null
    ops.size = sizeof ops;
    ops.process_of_rank = &process_of_rank;
    ops.communicator_is_live = &communicator_is_live;
    ops.datatype_is_committed = &datatype_is_committed;
    ops.request_create = &create_request;
    ops.request_complete = &complete_request;
    ops.deliver_completions = &deliver_completions;
    ops.request_finish = &finish_request;
    ops.request_when_freed = &call_when_freed;
    ops.request_completed = &completed_request;
    ops.request_create_persistent = &create_persistent_request;
    ops.request_start = &start_request;
    ops.request_is_active = &request_is_active;
    ops.window_request_create = [](void*, mpix_handle_t*) -> mpix_host_request_t* { return nullptr; };
    return ops;
  }();
  return operations;
}

}  // namespace mpixrma::host
