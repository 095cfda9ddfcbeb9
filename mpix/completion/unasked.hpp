/// Failures that the program has not asked for when MPI ends.
#pragma once

namespace mpixrma {

/// Completes what was issued. Where operations have failed whose errors no call has returned: one line on
/// stderr for each communicator, and its error handler unless it is freed. Called at the beginning of
/// MPI_Finalize.
void raise_unasked_failures();

}  // namespace mpixrma
