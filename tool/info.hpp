/// mpix-rma info: versions, and the features that this machine permits.
#pragma once

#include "tool/installation.hpp"

namespace mpixrma::tool {

/// Prints the information. Returns false if the installation cannot work at all.
bool show_info(Installation const& installation);

}  // namespace mpixrma::tool
