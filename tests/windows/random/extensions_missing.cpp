#include "tests/windows/random/extensions.hpp"

namespace mpixrma::random_windows {

bool has_extensions() { return false; }

int set_counters(MPI_Win, int) { return MPI_ERR_UNSUPPORTED_OPERATION; }
int count_counters(MPI_Win, int, int*) { return MPI_ERR_UNSUPPORTED_OPERATION; }
int read_counter(MPI_Win, int, CounterRead, MPI_Count*) { return MPI_ERR_UNSUPPORTED_OPERATION; }
int wait_for_counter(MPI_Win, int, MPI_Count, MPI_Request*) { return MPI_ERR_UNSUPPORTED_OPERATION; }
int issue_notified(Notified const&) { return MPI_ERR_UNSUPPORTED_OPERATION; }
int order_or_flush(Call, int, MPI_Win, MPI_Request*) { return MPI_ERR_UNSUPPORTED_OPERATION; }
int flush_windows(std::vector<MPI_Win> const&) { return MPI_ERR_UNSUPPORTED_OPERATION; }

}  // namespace mpixrma::random_windows
