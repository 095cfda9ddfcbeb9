/// The MPI calls that connect or disconnect processes of several jobs. Both names (MPI_ and PMPI_) are
/// defined, because Fortran bindings may call either.
#include <mpi.h>

#include "hosts/public-mpi/connections.hpp"
#include "hosts/public-mpi/host.hpp"
#include "hosts/public-mpi/next.hpp"

namespace {

using mpixrma::host::next;

/// Exchanges addresses over the new intercommunicator if `code`, the result of the connecting call, is
/// MPI_SUCCESS. Returns `code`.
int exchange_if_connected(int code, MPI_Comm const* inter) {
  if (code == MPI_SUCCESS && mpixrma::host::is_chosen()) mpixrma::host::exchange_addresses(*inter);
  return code;
}

/// Calls the MPI function `name` with the arguments, then exchanges addresses over the intercommunicator that
/// it creates.
template <typename Function, typename... Arguments>
int connect(Function* function, char const* name, MPI_Comm* inter, Arguments... arguments) {
  return exchange_if_connected(next(function, name)(arguments..., inter), inter);
}

int spawn(char const* name, char const* command, char** argv, int processes, MPI_Info info, int root,
          MPI_Comm comm, MPI_Comm* inter, int* codes) {
  return exchange_if_connected(
      next(&MPI_Comm_spawn, name)(command, argv, processes, info, root, comm, inter, codes), inter);
}

int spawn_multiple(char const* name, int count, char** commands, char*** argvs, int const* processes,
                   MPI_Info const* infos, int root, MPI_Comm comm, MPI_Comm* inter, int* codes) {
  auto* const pass_on = next(&MPI_Comm_spawn_multiple, name);
  return exchange_if_connected(pass_on(count, commands, argvs, processes, infos, root, comm, inter, codes),
                               inter);
}

int create_inter(char const* name, MPI_Comm local, int leader, MPI_Comm peer, int remote_leader, int tag,
                 MPI_Comm* inter) {
  int const code = next(&MPI_Intercomm_create, name)(local, leader, peer, remote_leader, tag, inter);
  if (code == MPI_SUCCESS && mpixrma::host::is_chosen())
    mpixrma::host::exchange_addresses_between_jobs(*inter);
  return code;
}

int disconnect(char const* name, MPI_Comm* comm) {
  mpixrma::host::DisconnectScope const disconnection;
  return next(&MPI_Comm_disconnect, name)(comm);
}

}  // namespace

extern "C" {

MPIX_HOST_INTERCEPT int MPI_Comm_spawn(char const* command, char* argv[], int processes, MPI_Info info,
                                       int root, MPI_Comm comm, MPI_Comm* inter, int codes[]) {
  return spawn("MPI_Comm_spawn", command, argv, processes, info, root, comm, inter, codes);
}
MPIX_HOST_INTERCEPT int PMPI_Comm_spawn(char const* command, char* argv[], int processes, MPI_Info info,
                                        int root, MPI_Comm comm, MPI_Comm* inter, int codes[]) {
  return spawn("PMPI_Comm_spawn", command, argv, processes, info, root, comm, inter, codes);
}

MPIX_HOST_INTERCEPT int MPI_Comm_spawn_multiple(int count, char* commands[], char** argvs[],
                                                int const processes[], MPI_Info const infos[], int root,
                                                MPI_Comm comm, MPI_Comm* inter, int codes[]) {
  return spawn_multiple("MPI_Comm_spawn_multiple", count, commands, argvs, processes, infos, root, comm,
                        inter, codes);
}
MPIX_HOST_INTERCEPT int PMPI_Comm_spawn_multiple(int count, char* commands[], char** argvs[],
                                                 int const processes[], MPI_Info const infos[], int root,
                                                 MPI_Comm comm, MPI_Comm* inter, int codes[]) {
  return spawn_multiple("PMPI_Comm_spawn_multiple", count, commands, argvs, processes, infos, root, comm,
                        inter, codes);
}

MPIX_HOST_INTERCEPT int MPI_Comm_accept(char const* port, MPI_Info info, int root, MPI_Comm comm,
                                        MPI_Comm* inter) {
  return connect(&MPI_Comm_accept, "MPI_Comm_accept", inter, port, info, root, comm);
}
MPIX_HOST_INTERCEPT int PMPI_Comm_accept(char const* port, MPI_Info info, int root, MPI_Comm comm,
                                         MPI_Comm* inter) {
  return connect(&MPI_Comm_accept, "PMPI_Comm_accept", inter, port, info, root, comm);
}

MPIX_HOST_INTERCEPT int MPI_Comm_join(int socket, MPI_Comm* inter) {
  return connect(&MPI_Comm_join, "MPI_Comm_join", inter, socket);
}
MPIX_HOST_INTERCEPT int PMPI_Comm_join(int socket, MPI_Comm* inter) {
  return connect(&MPI_Comm_join, "PMPI_Comm_join", inter, socket);
}

MPIX_HOST_INTERCEPT int MPI_Intercomm_create(MPI_Comm local, int leader, MPI_Comm peer, int remote_leader,
                                             int tag, MPI_Comm* inter) {
  return create_inter("MPI_Intercomm_create", local, leader, peer, remote_leader, tag, inter);
}
MPIX_HOST_INTERCEPT int PMPI_Intercomm_create(MPI_Comm local, int leader, MPI_Comm peer, int remote_leader,
                                              int tag, MPI_Comm* inter) {
  return create_inter("PMPI_Intercomm_create", local, leader, peer, remote_leader, tag, inter);
}

// libmpix_rma defines the MPI_ names of these two functions itself, for windows at a memory server
// (mpix/nam/connect.cpp), and forwards to the PMPI_ names.
MPIX_HOST_INTERCEPT int MPI_Comm_connect(char const* port, MPI_Info info, int root, MPI_Comm comm,
                                         MPI_Comm* inter) {
  return connect(&MPI_Comm_connect, "MPI_Comm_connect", inter, port, info, root, comm);
}
MPIX_HOST_INTERCEPT int PMPI_Comm_connect(char const* port, MPI_Info info, int root, MPI_Comm comm,
                                          MPI_Comm* inter) {
  return connect(&MPI_Comm_connect, "PMPI_Comm_connect", inter, port, info, root, comm);
}

MPIX_HOST_INTERCEPT int MPI_Comm_disconnect(MPI_Comm* comm) {
  return disconnect("MPI_Comm_disconnect", comm);
}
MPIX_HOST_INTERCEPT int PMPI_Comm_disconnect(MPI_Comm* comm) {
  return disconnect("PMPI_Comm_disconnect", comm);
}
}
