/// Attributes on communicators: MPI attributes under keys of ours, summed up in one word per communicator.
#pragma once

#include <mpi.h>

#include "mpix/attrs/attributes.hpp"
#include "mpix/comm/communicator.hpp"

namespace mpixrma {

/// Makes the keys. Once, when the library is set up.
void create_keyvals();

/// The position in attribute_table of the attribute with this key, or attribute_count.
std::size_t attribute_of(int keyval) noexcept;

/// What is set on the communicator, read from MPI. The word that comes with it has attributes_outdated set
/// when a change made later would not be seen.
MPIX_RMA_Attributes read_attributes(MPI_Comm comm);

}  // namespace mpixrma
