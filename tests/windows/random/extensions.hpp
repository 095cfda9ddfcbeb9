/// The calls beyond MPI's, with MPI's types, for programs that may or may not be linked with the library.
#pragma once

#include <vector>

#include "tests/windows/random/plan.hpp"

namespace mpixrma::random_windows {

/// The arguments of a notified operation. `request`: null for the forms without.
struct Notified {
  Call call;
  void* origin;
  int origin_count;
  MPI_Datatype origin_type;
  void* result;
  int result_count;
  MPI_Datatype result_type;
  int target;
  MPI_Aint at;
  int count;
  MPI_Datatype type;
  MPI_Op op;
  int notification;
  MPI_Win win;
  MPI_Request* request;
};

/// Whether the program is linked with the library. Otherwise the other functions must not be called.
bool has_extensions();

int set_counters(MPI_Win win, int number);
int count_counters(MPI_Win win, int rank, int* number);
/// Whether reading a counter sets it to 0.
enum class CounterRead { keep, reset };
int read_counter(MPI_Win win, int index, CounterRead mode, MPI_Count* value);
int wait_for_counter(MPI_Win win, int index, MPI_Count threshold, MPI_Request* request);
int issue_notified(Notified const& operation);
/// Makes one of the calls from Call::order to Call::flush_thread_all. `request` is for MPIX_Win_iflush and
/// its variants.
int order_or_flush(Call call, int target, MPI_Win win, MPI_Request* request);
int flush_windows(std::vector<MPI_Win> const& windows);

}  // namespace mpixrma::random_windows
