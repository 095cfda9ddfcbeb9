#include "mpi-windows/state/target_table.hpp"

namespace mpixrma::windows {

constinit Target TargetTable::nobody{};

}  // namespace mpixrma::windows
