/// A well-behaved peer, which runs beside hostile ones.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/engine_paths.hpp"

namespace mpixrma::engine {

/// Checks that values are read back as they were put, and that the values that sums fetch rise.
/// Uses 201 words from `there` on.
inline void run_well_behaved_peer(Rank& rank, int target, RemoteAddress there, int rounds) {
  std::int64_t last = -1;
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::uint64_t> out(200, static_cast<std::uint64_t>(round) * 1001);
    std::vector<std::uint64_t> in(out.size());
    Peer& peer = rank.peer(target);
    ASSERT_EQ(run(rank.engine(), peer, contiguous(OpKind::put, out.data(), there, out.size() * 8)),
              Status::ok);
    ASSERT_EQ(run(rank.engine(), peer, contiguous(OpKind::get, in.data(), there, in.size() * 8)), Status::ok);
    ASSERT_EQ(in, out);
    std::int64_t const one = 1;
    std::int64_t before = -1;
    RmaOp const add = contiguous(ReduceOp::sum, ElementType::int64, &one, there + out.size() * 8, 8, &before);
    ASSERT_EQ(run(rank.engine(), peer, add), Status::ok);
    ASSERT_GT(before, last);
    last = before;
  }
}

}  // namespace mpixrma::engine
