/// Attributes on communicators: MPI attributes under the library's keys, summarised in one word per
/// communicator.
#pragma once

#include <mpi.h>

#include <string_view>

#include "mpix/attrs/attributes.hpp"
#include "mpix/comm/communicator.hpp"

namespace mpixrma {

/// Creates the keys. Called once, during initialisation.
void create_keyvals();

/// Returns the key of the attribute whose macro has this name, or MPI_KEYVAL_INVALID. The program may use
/// the key from now on.
int keyval_of(std::string_view name);

/// Returns the index in attribute_table of the attribute with this key, or attribute_count.
std::size_t attribute_of(int keyval) noexcept;

/// Returns the attributes set on the communicator, read from MPI. Their word includes attributes_outdated if
/// the library would not see a later change.
MPIX_RMA_Attributes read_attributes(MPI_Comm comm);

}  // namespace mpixrma
