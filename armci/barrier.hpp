/// A barrier that costs a few cache misses among the processes of one host.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace armci {

/// The processes of a host synchronise through flags in communicatable memory; then one process of each host
/// synchronises with the others through MPI. If a process cannot map the flags that it sets, all processes of
/// its host synchronise with all others through MPI.
class Barrier {
 public:
  /// Collective over `comm`, which must outlive the barrier. On failure every process throws a Failure that
  /// names `call`.
  void open(char const* call, MPI_Comm comm);
  /// Collective, after the last wait().
  void close();
  bool is_open() const noexcept { return host_ != MPI_COMM_NULL; }

  /// Returns when every process has called it. Stores made before the call are visible afterwards.
  void wait();

 private:
  /// Number of the newest barrier that the writer has reached. One process writes it, another one waits for
  /// it.
  struct alignas(64) Flag {
    std::atomic<std::uint64_t> reached;
  };
  /// In round k each process signals the process 2^k behind it and waits for the process 2^k ahead of it.
  struct Round {
    Flag* theirs;
    Flag const* mine;
  };

  bool map_flags(char const* call);
  void wait_on_host();

  MPI_Comm host_ = MPI_COMM_NULL;
  MPI_Comm leaders_ = MPI_COMM_NULL;
  bool several_hosts_ = false;
  void* flags_ = nullptr;
  std::vector<Round> rounds_;
  std::uint64_t reached_ = 0;
};

}  // namespace armci
