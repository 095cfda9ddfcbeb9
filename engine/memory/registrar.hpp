/// The two parties that register memory of a process.
#pragma once

#include <cstdint>

namespace mpixrma::engine {

/// The party that has made a registration. A program cannot end a registration of its MPI host, because a
/// window relies on it.
enum class Registrar : std::uint8_t { host, program };

}  // namespace mpixrma::engine
