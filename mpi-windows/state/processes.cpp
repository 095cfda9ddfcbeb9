#include "mpi-windows/state/processes.hpp"

#include <cstddef>
#include <numeric>

namespace mpixrma::windows {

std::vector<int> Processes::ranks_of(MPI_Group members) const {
  int count = 0;
  PMPI_Group_size(members, &count);
  std::vector<int> numbers(static_cast<std::size_t>(count));
  std::vector<int> ranks(numbers.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  PMPI_Group_translate_ranks(members, count, numbers.data(), group, ranks.data());
  return ranks;
}

}  // namespace mpixrma::windows
