/// mpix-rma info: versions, and the features that this machine permits.
#pragma once

#include "tool/installation.hpp"

namespace mpixrma::tool {

/// Prints the information. Returns false if versions of the installed files differ, or Open MPI does not load
/// the component.
bool show_info(Installation const& installation);

}  // namespace mpixrma::tool
