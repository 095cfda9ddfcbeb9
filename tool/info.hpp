/// mpix-rma info: versions, and what this machine permits.
#pragma once

#include "tool/installation.hpp"

namespace mpixrma::tool {

/// Prints it. False where something keeps the installation from working at all.
bool show_info(Installation const& installation);

}  // namespace mpixrma::tool
