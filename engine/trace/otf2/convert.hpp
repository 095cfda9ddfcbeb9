/// Makes an OTF2 trace from the records of processes.
#pragma once

#include <string>

namespace mpixrma::engine {

/// Converts the records in the directory of the trace, and removes them. Throws std::runtime_error.
void convert_trace(std::string const& trace);

}  // namespace mpixrma::engine
