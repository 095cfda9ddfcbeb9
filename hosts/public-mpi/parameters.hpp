/// The engine's configuration from the environment: MPIX_PATH and others (docs/hosts.md).
#pragma once

#include <string>

#include "engine/base/config.h"

namespace mpixrma::host {

/// Sets in `config` the values of the environment. The strings in `config` belong to the environment and stay
/// valid until a variable is set again. Returns an empty string, or the error of a value as one line without
/// a period. Adds to `notes` a line for each former name of a parameter or of a value.
std::string read_parameters(mpix_engine_config& config, std::string& notes);

}  // namespace mpixrma::host
