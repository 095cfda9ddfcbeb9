// Operations that fail if the connection is lost.
#include <gtest/gtest.h>

#include "engine/origin/stream_parts.hpp"

namespace mpixrma::engine {
namespace {

TEST(UntrackedOperations, FailInEachContextUnlessExecutedOrForgotten) {
  constexpr std::uint32_t executed = 1, forgotten = 2, lost = 3;
  UntrackedOperations operations;
  operations.note(executed, 5);
  operations.note(forgotten, 8);
  operations.note(lost, 6);
  operations.note(lost, 9);
  operations.drop(5);
  operations.forget(forgotten);
  LateErrors errors;
  operations.fail(5, errors);
  EXPECT_EQ(errors.take(executed).count, 0u);
  EXPECT_EQ(errors.take(forgotten).count, 0u);
  LateErrors::Failures const failures = errors.take(lost);
  EXPECT_EQ(failures.count, 1u);
  EXPECT_EQ(failures.first.status, Status::transport);
}

}  // namespace
}  // namespace mpixrma::engine
