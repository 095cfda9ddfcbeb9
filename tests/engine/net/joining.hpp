/// Engines with batches of different sizes, or without batches.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/support/engine_paths.hpp"

namespace mpixrma::engine {

struct JoinCase {
  char const* name;
  std::size_t bytes;  ///< mpix_engine_config::join_bytes
};

class Joining : public ::testing::TestWithParam<JoinCase> {
 protected:
  static bool joins() { return GetParam().bytes != MPIX_ENGINE_NEVER_JOIN; }
  /// As between hosts: messages for all operations, at all ranks or for those of rank 0.
  static void messages(mpix_engine_config& config) {
    config.paths = MPIX_ENGINE_PATH_MESSAGE;
    config.join_bytes = GetParam().bytes;
  }
  static void configure(mpix_engine_config& config, int rank) {
    config.join_bytes = GetParam().bytes;
    if (rank == 0) messages(config);
  }
};

inline auto const join_cases = ::testing::Values(JoinCase{"usual", 0}, JoinCase{"tiny", 1024},
                                                 JoinCase{"never", MPIX_ENGINE_NEVER_JOIN});
inline std::string name_of_case(::testing::TestParamInfo<JoinCase> const& instance) {
  return instance.param.name;
}

/// Slots of the values that ranks publish with Rank::show.
enum : int { memory_slot, stage_slot };

}  // namespace mpixrma::engine
