/// mpix-rma timeline: draws a trace.
#pragma once

#include <string>

#include "tool/installation.hpp"

namespace mpixrma::tool {

/// Draws the trace in the directory as one page. Converts records to OTF2 before that if processes have left
/// some that were killed. Returns the exit status. Throws Error if there is no trace, or processes still
/// write it.
int draw_timeline(Installation const& installation, std::string const& trace, std::string const& page);

}  // namespace mpixrma::tool
