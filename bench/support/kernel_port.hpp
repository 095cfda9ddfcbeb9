/// One-sided communication as the kernels of bench_kernels use it: put with a notification of the
/// target when the data has arrived, and put followed by completion of all puts. On MPIX_RMA, and on MPI's
/// windows.
#pragma once

#include <mpi.h>
#include <mpix_rma.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "bench/support/harness.hpp"

namespace bench {

/// Memory of `words` doubles at each rank, and operations on it. A channel is a counter at the target: a
/// notified put increments it after the data is visible.
class KernelPort {
 public:
  KernelPort() = default;
  KernelPort(KernelPort const&) = delete;
  KernelPort& operator=(KernelPort const&) = delete;
  virtual ~KernelPort() = default;

  double* memory() const { return memory_; }
  virtual void put(double const* from, int count, int target, std::size_t offset) = 0;
  /// Put, with an increment of the channel at the target.
  virtual void put_notified(double const* from, int count, int target, std::size_t offset, int channel) = 0;
  /// Returns when the channel of this rank has counted `puts` in all.
  virtual void wait(int channel, long puts) = 0;
  /// Completes all puts of all ranks.
  virtual void synchronise() = 0;

 protected:
  double* memory_ = nullptr;
};

class MpixPort : public KernelPort {
 public:
  MpixPort(std::size_t words, int channels) {
    int size = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm_);
    MPI_Comm_size(comm_, &size);
    bases_.resize(static_cast<std::size_t>(size));
    MPIX_RMA_Allocate(static_cast<MPI_Aint>(words * sizeof(double)), MPI_INFO_NULL, comm_, nullptr,
                      bases_.data());
    MPIX_RMA_Set_num_notify(comm_, channels);
    memory_ = at(rank(), 0);
    std::fill_n(memory_, words, 0.0);
    MPI_Barrier(comm_);
  }
  ~MpixPort() override {
    MPIX_RMA_Free(memory_, comm_);
    MPI_Comm_free(&comm_);
  }

  void put(double const* from, int count, int target, std::size_t offset) override {
    MPIX_RMA_xfer(MPIX_RMA_PUT, const_cast<double*>(from), count, MPI_DOUBLE, target, at(target, offset),
                  count, MPI_DOUBLE, nullptr, &comm_, nullptr);
  }
  void put_notified(double const* from, int count, int target, std::size_t offset, int channel) override {
    MPIX_RMA_Attributes attributes{};
    attributes.set = MPIX_RMA_ATTR_NOTIFY | MPIX_RMA_ATTR_BLOCKING;
    attributes.notify_index = channel;
    MPIX_RMA_xfer(MPIX_RMA_PUT, const_cast<double*>(from), count, MPI_DOUBLE, target, at(target, offset),
                  count, MPI_DOUBLE, nullptr, &comm_, &attributes);
  }
  void wait(int channel, long puts) override {
    MPI_Request request = MPI_REQUEST_NULL;
    MPIX_RMA_Wait_notify_value(comm_, channel, puts, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  void synchronise() override {
    MPIX_RMA_Complete(&comm_, MPIX_ALL_RANKS);
    MPI_Barrier(comm_);
  }

 private:
  double* at(int target, std::size_t offset) {
    return static_cast<double*>(bases_[static_cast<std::size_t>(target)]) + offset;
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<void*> bases_;
};

/// MPI 3.1 has no notification: the origin completes the put by a flush and adds to a word of the target,
/// which the target reads by MPI_Fetch_and_op on itself.
class WindowPort : public KernelPort {
 public:
  WindowPort(std::size_t words, int channels) {
    void* base = nullptr;
    void* counters = nullptr;
    MPI_Win_allocate(static_cast<MPI_Aint>(words * sizeof(double)), sizeof(double), MPI_INFO_NULL,
                     MPI_COMM_WORLD, &base, &data_);
    MPI_Win_allocate(channels * static_cast<MPI_Aint>(sizeof(long)), sizeof(long), MPI_INFO_NULL,
                     MPI_COMM_WORLD, &counters, &counters_);
    memory_ = static_cast<double*>(base);
    std::fill_n(memory_, words, 0.0);
    std::fill_n(static_cast<long*>(counters), channels, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, data_);
    MPI_Win_lock_all(MPI_MODE_NOCHECK, counters_);
  }
  ~WindowPort() override {
    MPI_Win_unlock_all(counters_);
    MPI_Win_unlock_all(data_);
    MPI_Win_free(&counters_);
    MPI_Win_free(&data_);
  }

  void put(double const* from, int count, int target, std::size_t offset) override {
    MPI_Put(from, count, MPI_DOUBLE, target, static_cast<MPI_Aint>(offset), count, MPI_DOUBLE, data_);
  }
  void put_notified(double const* from, int count, int target, std::size_t offset, int channel) override {
    static long const one = 1;
    put(from, count, target, offset);
    MPI_Win_flush(target, data_);
    MPI_Accumulate(&one, 1, MPI_LONG, target, channel, 1, MPI_LONG, MPI_SUM, counters_);
    MPI_Win_flush(target, counters_);
  }
  void wait(int channel, long puts) override {
    long const none = 0;
    for (long value = -1; value < puts;) {
      MPI_Fetch_and_op(&none, &value, MPI_LONG, rank(), channel, MPI_NO_OP, counters_);
      MPI_Win_flush(rank(), counters_);
    }
    MPI_Win_sync(data_);
  }
  void synchronise() override {
    MPI_Win_flush_all(data_);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(data_);
  }

 private:
  MPI_Win data_ = MPI_WIN_NULL;
  MPI_Win counters_ = MPI_WIN_NULL;
};

}  // namespace bench
