/// mpix-rma timeline: draws a trace.
#pragma once

#include <string>

#include "tool/installation.hpp"

namespace mpixrma::tool {

/// Draws the trace in the directory as one page. If killed processes have left records, converts these to
/// OTF2 first. Returns the exit status. Throws Error if there is no trace, or processes still write it.
int draw_timeline(Installation const& installation, std::string const& trace, std::string const& page);

}  // namespace mpixrma::tool
