/// Failures that no call has reported by the time of MPI_Finalize.
#pragma once

namespace mpixrma {

/// Completes all issued operations. For failures that no call has returned, prints one line on stderr per
/// communicator and invokes its error handler unless the communicator is freed. Called at the start of
/// MPI_Finalize.
void complete_and_raise_unreported();

}  // namespace mpixrma
