/// The system calls that a data process may make.
#pragma once

namespace mpixrma::nam {

/// Limits this process to the calls that the server, the C library and UCX need. A call that
/// would reach other processes or the system is EPERM. A call that this filter does not know is ENOSYS, as on
/// a kernel before that call: libraries then use what they used before it. MPIX_NAMD_UNKNOWN_CALLS in the
/// environment says what an unknown call does instead: "log" makes it, with a line in the kernel's audit log,
/// and "kill" ends the process. Throws Error(unsupported) where the system does not filter calls, bad_request
/// for another value.
void filter_calls();

}  // namespace mpixrma::nam
