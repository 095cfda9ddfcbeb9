/// The MPI calls by which a program connects to a persistent window.
#include <cstring>

#include "include/mpix_rma.h"
#include "mpix/comm/collective.hpp"
#include "mpix/comm/freeing.hpp"
#include "mpix/error/exception.hpp"
#include "mpix/nam/connection.hpp"
#include "mpix/nam/windows.hpp"
#include "mpix/runtime/process_engine.hpp"
#include "mpix/runtime/profiling.hpp"
#include "mpix/runtime/runtime.hpp"

MPIX_PROFILED(MPIX_Win_connect)

namespace mpixrma {

namespace {

/// The message that `root` broadcasts.
struct WindowAnswer {
  int error_class;
  int ranks;
  int follow;   ///< mpix_nam_follow in the root's info object
  int encrypt;  ///< mpix_nam_encrypt in the root's info object
  char port[MPI_MAX_INFO_VAL];
  char text[MPI_MAX_ERROR_STRING];
};

void query_window(char const* port, MPI_Info info, WindowAnswer* answer) {
  if (port == nullptr) {
    answer->error_class = MPI_ERR_PORT;
    std::strncpy(answer->text, "port_name is a null pointer", sizeof answer->text - 1);
    return;
  }
  answer->follow = is_true(info, "mpix_nam_follow") ? 1 : 0;
  answer->encrypt = is_true(info, "mpix_nam_encrypt") ? 1 : 0;
  std::strncpy(answer->port, port, sizeof answer->port - 1);
  if (std::strlen(port) >= sizeof answer->port) {
    answer->error_class = MPI_ERR_PORT;
    std::strncpy(answer->text, "the port name is too long", sizeof answer->text - 1);
    return;
  }
  answer->error_class = host().nam_ranks(port, answer->follow, &answer->ranks);
  if (answer->error_class == MPI_SUCCESS) return;
  std::strncpy(answer->text, newest_refusal(answer->error_class).reason.c_str(), sizeof answer->text - 1);
  if (answer->error_class == MPI_ERR_ARG) answer->error_class = MPI_ERR_PORT;  // the port is the argument
}

int rank_in(MPI_Comm comm) {
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  return rank;
}

/// The purpose of a call of MPI_Comm_connect.
enum class ConnectPurpose : int { processes, window, window_without_key };

/// Returns the purpose of a call. Collective, because only `root` has the arguments.
ConnectPurpose connect_purpose_of(char const* port, MPI_Info info, int root, MPI_Comm comm) {
  ConnectPurpose matter = ConnectPurpose::processes;
  if (rank_in(comm) == root && is_nam_port(port))
    matter = value_of(info, "deep_win_connect") == "true" ? ConnectPurpose::window
                                                          : ConnectPurpose::window_without_key;
  PMPI_Bcast(&matter, 1, MPI_INT, root, comm);
  return matter;
}

/// Whether `root` is a rank of the intracommunicator `comm`.
bool has_root(MPI_Comm comm, int root) {
  int size = 0;
  int inter = 1;
  if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS || inter != 0) return false;
  PMPI_Comm_size(comm, &size);
  return root >= 0 && root < size;
}

/// Collective. Returns an MPI error code.
int ask_for_window(Site const& site, char const* port, MPI_Info info, int root, WindowAnswer* answer) {
  bool const ready = can_create_windows();
  *answer = {};
  if (rank_in(site.comm) == root && ready) query_window(port, info, answer);
  if (Verdict const verdict = agree_on_class(site.comm, ready ? MPI_SUCCESS : no_engine_class);
      verdict.error_class != MPI_SUCCESS)
    return ready ? raise_agreed(site, {}, verdict) : raise_without_windows(site);
  PMPI_Bcast(answer, sizeof *answer, MPI_BYTE, root, site.comm);
  answer->port[sizeof answer->port - 1] = answer->text[sizeof answer->text - 1] = '\0';
  if (answer->error_class == MPI_SUCCESS) return MPI_SUCCESS;
  return raise(site, answer->error_class, "%s", answer->text);
}

/// Frees the handle if it represents a window. Returns false for any other handle.
bool end_if_connection(MPI_Comm* comm) {
  if (comm == nullptr || !connection_of(*comm)) return false;
  end_connection(comm);
  return true;
}

}  // namespace
}  // namespace mpixrma

using namespace mpixrma;

extern "C" MPIX_RMA_API int MPI_Comm_connect(char const* port_name, MPI_Info info, int root, MPI_Comm comm,
                                             MPI_Comm* newcomm) try {
  ConnectPurpose const matter =
      has_root(comm, root) ? connect_purpose_of(port_name, info, root, comm) : ConnectPurpose::processes;
  if (matter == ConnectPurpose::processes) return PMPI_Comm_connect(port_name, info, root, comm, newcomm);
  Site const site{"MPI_Comm_connect", comm};
  if (matter == ConnectPurpose::window_without_key)
    return raise(site, MPI_ERR_INFO_NOKEY,
                 "the port belongs to a window, but the info object lacks deep_win_connect");
  WindowAnswer answer;
  if (int const code = ask_for_window(site, port_name, info, root, &answer); code != MPI_SUCCESS) return code;
  *newcomm = make_connection(comm, answer.ranks, {answer.port, answer.follow != 0, answer.encrypt != 0});
  return *newcomm != MPI_COMM_NULL ? MPI_SUCCESS
                                   : raise(site, MPI_ERR_INTERN, "MPI cannot create another communicator");
} catch (...) {
  return raise_exception(&comm);
}

extern "C" MPIX_RMA_API int MPI_Comm_remote_size(MPI_Comm comm, int* size) {
  auto const connection = connection_of(comm);
  if (!connection || size == nullptr) return PMPI_Comm_remote_size(comm, size);
  *size = connection->ranks;
  return MPI_SUCCESS;
}

extern "C" MPIX_RMA_API int MPI_Comm_test_inter(MPI_Comm comm, int* flag) {
  if (flag == nullptr || !connection_of(comm)) return PMPI_Comm_test_inter(comm, flag);
  *flag = 1;
  return MPI_SUCCESS;
}

extern "C" MPIX_RMA_API int MPI_Comm_free(MPI_Comm* comm) {
  return end_if_connection(comm) ? MPI_SUCCESS : PMPI_Comm_free(comm);
}

extern "C" MPIX_RMA_API int MPI_Comm_disconnect(MPI_Comm* comm) {
  return end_if_connection(comm) ? MPI_SUCCESS : free_communicator(comm, &PMPI_Comm_disconnect);
}

extern "C" MPIX_RMA_API int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* win) try {
  auto const connection = connection_of(comm);
  if (!connection || win == nullptr) return PMPI_Win_create_dynamic(info, comm, win);
  return connect_nam({"MPI_Win_create_dynamic", connection->origins}, info, connection->window, win);
} catch (...) {
  return raise_exception(&comm);
}

int MPIX_Win_connect(const char* port_name, MPI_Info info, int root, MPI_Comm comm, MPI_Win* win) try {
  Site const site{"MPIX_Win_connect", comm};
  if (comm == MPI_COMM_NULL || !is_mpi_active()) return raise_unusable(site.call, &comm);
  if (!has_root(comm, root)) return raise(site, MPI_ERR_ROOT, "root %d is not in an intracommunicator", root);
  if (win == nullptr) return raise(site, MPI_ERR_ARG, "win is a null pointer");
  WindowAnswer answer;
  if (int const code = ask_for_window(site, port_name, info, root, &answer); code != MPI_SUCCESS) return code;
  return connect_nam(site, info, {answer.port, answer.follow != 0, answer.encrypt != 0}, win);
} catch (...) {
  return raise_exception(&comm);
}
