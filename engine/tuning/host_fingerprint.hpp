/// The properties of host and build on which a measurement depends.
#pragma once

#include <string>

namespace mpixrma::engine {

/// Returns one line with the processor's model and microcode according to the file `cpuinfo`, the kernel, the
/// C library, and the version and kind of build of this library. A part that cannot be found out is
/// "unknown".
std::string host_fingerprint(char const* cpuinfo = "/proc/cpuinfo");

}  // namespace mpixrma::engine
