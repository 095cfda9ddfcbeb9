/// Engines with batches of different sizes, or without batches.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/engine_paths.hpp"

namespace mpixrma::engine {

struct BatchCase {
  char const* name;
  std::size_t bytes;  ///< mpix_engine_config::batch_bytes
};

class Batching : public ::testing::TestWithParam<BatchCase> {
 protected:
  static bool batches() { return GetParam().bytes != MPIX_ENGINE_NO_BATCHES; }
  /// As between hosts: all operations are messages. configure() does this for operations of rank 0 only.
  static void messages(mpix_engine_config& config) {
    config.protocols = MPIX_ENGINE_PROTOCOL_MESSAGE;
    config.batch_bytes = GetParam().bytes;
  }
  static void configure(mpix_engine_config& config, int rank) {
    config.batch_bytes = GetParam().bytes;
    if (rank == 0) messages(config);
  }
};

inline auto const batch_cases = ::testing::Values(BatchCase{"usual", 0}, BatchCase{"tiny", 1024},
                                                  BatchCase{"never", MPIX_ENGINE_NO_BATCHES});
inline std::string name_of_case(::testing::TestParamInfo<BatchCase> const& instance) {
  return instance.param.name;
}

/// Slots of the values that ranks publish with Rank::publish and Rank::signal.
enum : int { memory_slot, phase_slot };

}  // namespace mpixrma::engine
