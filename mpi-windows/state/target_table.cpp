#include "mpi-windows/state/target_table.hpp"

namespace mpixrma::windows {

constinit Target TargetTable::no_target{};

}  // namespace mpixrma::windows
