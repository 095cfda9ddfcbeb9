/// A barrier of processes that costs a few cache misses between those of one host.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <vector>

namespace armci {

/// Processes of one host meet at flags in communicatable memory; one process of each host then meets the
/// others through MPI. A process whose host's memory is out of reach of loads and stores meets all others
/// through MPI.
class Barrier {
 public:
  /// Collective over `comm`, which outlives the barrier. Throws a Failure, at every process.
  void open(MPI_Comm comm);
  /// Collective, after the last wait().
  void close();
  bool is_open() const noexcept { return host_ != MPI_COMM_NULL; }

  /// Returns when every process has called it. What they stored before is visible afterwards.
  void wait();

 private:
  /// Written by one process, waited for by another: number of the newest barrier that the writer has reached.
  struct alignas(64) Flag {
    std::atomic<std::uint64_t> reached;
  };
  /// In round k each process tells the one 2^k behind it, and waits for the one 2^k ahead of it.
  struct Round {
    Flag* theirs;
    Flag const* mine;
  };

  bool map_flags();
  void wait_on_host();

  MPI_Comm host_ = MPI_COMM_NULL;
  MPI_Comm leaders_ = MPI_COMM_NULL;
  bool several_hosts_ = false;
  void* flags_ = nullptr;
  std::vector<Round> rounds_;
  std::uint64_t reached_ = 0;
};

}  // namespace armci
