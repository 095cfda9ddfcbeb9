/// Failures that no call has reported by the time of MPI_Finalize.
#pragma once

namespace mpixrma {

/// Completes all issued operations. For failures that no call has returned, prints one line on stderr per
/// communicator and invokes the communicator's error handler; for those on freed communicators, prints one
/// line in all. Called at the start of MPI_Finalize.
void complete_and_raise_unreported();

}  // namespace mpixrma
