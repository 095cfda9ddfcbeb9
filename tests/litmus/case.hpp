/// One case of a litmus table, run by all ranks together.
#pragma once

#include <mpi.h>

#include <functional>
#include <memory>
#include <vector>

#include "tests/litmus/shape.hpp"

namespace mpixrma::test::litmus {

/// A role as a case has it.
struct Player {
  int rank = 0;
  std::function<std::unique_ptr<Port>()> make_port;  ///< called by the role's thread
};

struct Result {
  std::uint64_t rounds = 0;     ///< of all roles
  std::uint64_t forbidden = 0;  ///< outcomes
};

/// Barrier that leaves the processor to those who still run.
void wait_for_all(MPI_Comm comm);

/// Runs all roles at the same time; those of one rank are threads. The logs come to rank 0, which has the
/// result, except of a shape with a word for each round. Collective.
Result play(MPI_Comm comm, Shape const& shape, std::vector<Player> const& players, Length length);

}  // namespace mpixrma::test::litmus
