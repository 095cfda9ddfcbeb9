/// One case of a litmus table, run by all ranks together.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <vector>

#include "tests/litmus/shape.hpp"

namespace mpixrma::test::litmus {

/// A role in a case.
struct Player {
  int rank = 0;
  std::function<std::unique_ptr<Port>()> make_port;  ///< called by the role's thread
};

struct Result {
  std::uint64_t rounds = 0;   ///< of all roles
  std::uint64_t relaxed = 0;  ///< number of relaxed outcomes, which the case forbids or permits
};

/// A barrier that leaves the processor to processes that still run.
void wait_for_all(MPI_Comm comm);

/// Runs all roles concurrently; the roles of one rank are threads. Rank 0 receives the logs and has the
/// result, whose `relaxed` stays 0 for a shape with a word per round. Collective.
Result play(MPI_Comm comm, Shape const& shape, std::vector<Player> const& players, Length length);

}  // namespace mpixrma::test::litmus
