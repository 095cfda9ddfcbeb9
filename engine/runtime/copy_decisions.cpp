#include "engine/runtime/copy_decisions.hpp"

#include "engine/op/kernel/copy_methods.hpp"

namespace mpixrma::engine {

void CopyDecisions::open(mpix_engine_config const& config) {
  CopyTable fixed;
  if (config.copy_methods != nullptr) (void)read_copy_methods(config.copy_methods, fixed);
  use_copy_methods(fixed);
}

}  // namespace mpixrma::engine
