/// The engine's configuration out of the environment: MPIX_PATH and its like (docs/hosts.md).
#pragma once

#include <string>

#include "engine/base/config.h"

namespace mpixrma::host {

/// Sets in `config` what the environment says, strings of which stay valid. Empty, or what is wrong with a
/// value, as one line without a period.
std::string read_parameters(mpix_engine_config& config);

}  // namespace mpixrma::host
