/// The attribute keys of windows, by name.
#pragma once

#include <string_view>

namespace mpixrma {

/// Returns MPI_KEYVAL_INVALID for other names. The library defines the MPI calls that could free such a key,
/// or change such an attribute, and refuses them.
int window_keyval_of(std::string_view name);

}  // namespace mpixrma
