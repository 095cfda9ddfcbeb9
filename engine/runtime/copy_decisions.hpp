/// The methods of copies in this process: set by the parameter `copy`, or measured.
#pragma once

#include "engine/base/config.h"

namespace mpixrma::engine {

class CopyDecisions {
 public:
  void open(mpix_engine_config const& config);
};

}  // namespace mpixrma::engine
