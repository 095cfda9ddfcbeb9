/// A process that waits to be killed, as the target of another one.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>

#include "tests/support/job.hpp"

namespace mpixrma::test {

/// Both ranks of a job call it. Rank 1 publishes `memory` in slot 0 and does not return before it is killed.
/// Returns the pid of rank 1 at rank 0; 0 at rank 1, which must then return, or if a rank does not answer.
inline pid_t start_mortal_target(Rank& rank, void* memory) {
  rank.publish(0, memory);
  rank.publish(1, static_cast<std::uint64_t>(::getpid()));
  rank.signal(2, 1);
  for (int i = 0; i < 2; ++i) {
    bool const answers = rank.wait_for_value(i, 2, 1);
    EXPECT_TRUE(answers);
    if (!answers) return 0;
  }
  if (rank.rank() == 1) {
    ::pause();
    return 0;
  }
  rank.expect_death(1);
  return static_cast<pid_t>(rank.published(1, 1));
}

}  // namespace mpixrma::test
