/// The size of a page of this machine.
#pragma once

#include <unistd.h>

#include <cstddef>

namespace mpixrma::engine {

inline std::size_t const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

}  // namespace mpixrma::engine
