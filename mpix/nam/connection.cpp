#include "mpix/nam/connection.hpp"

#include <atomic>
#include <cstring>
#include <map>
#include <mutex>

#include "datatype/handle.hpp"
#include "mpix/runtime/process_engine.hpp"

namespace mpixrma {

namespace {

std::mutex lock;
std::map<MPI_Comm, NamConnection> connections;
std::atomic<std::size_t> connection_count{0};

/// Returns a communicator of the processes of `comm`, without the attributes of `comm`.
MPI_Comm copy_of(MPI_Comm comm) {
  MPI_Comm copy = MPI_COMM_NULL;
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  if (PMPI_Comm_split(comm, 0, rank, &copy) != MPI_SUCCESS) return MPI_COMM_NULL;
  return copy;
}

}  // namespace

bool is_nam_port(char const* port) noexcept {
  constexpr char scheme[] = "mpix-nam://";
  return port != nullptr && std::strncmp(port, scheme, sizeof scheme - 1) == 0;
}

MPI_Comm make_connection(MPI_Comm comm, int ranks, NamPort const& window) {
  MPI_Comm handle = copy_of(comm);
  MPI_Comm origins = copy_of(comm);
  if (handle == MPI_COMM_NULL || origins == MPI_COMM_NULL) {
    for (MPI_Comm* const copy : {&handle, &origins})
      if (*copy != MPI_COMM_NULL) PMPI_Comm_free(copy);
    return MPI_COMM_NULL;
  }
  host().communicator_refuse_calls(word_of(handle), 1);
  std::lock_guard const held(lock);
  connections[handle] = {origins, ranks, window};
  connection_count.store(connections.size(), std::memory_order_release);
  return handle;
}

std::optional<NamConnection> connection_of(MPI_Comm handle) {
  if (connection_count.load(std::memory_order_acquire) == 0) return std::nullopt;
  std::lock_guard const held(lock);
  auto const found = connections.find(handle);
  if (found == connections.end()) return std::nullopt;
  return found->second;
}

void end_connection(MPI_Comm* handle) {
  NamConnection ended;
  {
    std::lock_guard const held(lock);
    auto const found = connections.find(*handle);
    ended = found->second;
    connections.erase(found);
    connection_count.store(connections.size(), std::memory_order_release);
  }
  host().communicator_refuse_calls(word_of(*handle), 0);
  PMPI_Comm_free(handle);
  PMPI_Comm_free(&ended.origins);
}

}  // namespace mpixrma
