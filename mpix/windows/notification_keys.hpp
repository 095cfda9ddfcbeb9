/// Attributes of windows that tell how many notification counters there can be.
#pragma once

#include <mpi.h>

namespace mpixrma {

struct NotificationKeys {
  int suggested = MPI_KEYVAL_INVALID;  ///< up to how many counters nothing is slower
  int most = MPI_KEYVAL_INVALID;
  int value = MPI_KEYVAL_INVALID;  ///< the largest value of a counter
};

/// Made by the first call; the host's windows have the attributes from there on.
NotificationKeys const& notification_keys();

}  // namespace mpixrma
