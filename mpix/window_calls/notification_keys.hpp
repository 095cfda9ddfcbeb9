/// Window attributes with the limits of notification counters.
#pragma once

#include <mpi.h>

namespace mpixrma {

struct NotificationKeys {
  int suggested = MPI_KEYVAL_INVALID;  ///< up to this number, counters do not slow operations down
  int most = MPI_KEYVAL_INVALID;
  int value = MPI_KEYVAL_INVALID;  ///< maximum value of a counter
};

/// The first call creates the keys; from then on the MPI host's windows have the attributes.
NotificationKeys const& notification_keys();

}  // namespace mpixrma
