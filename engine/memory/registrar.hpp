/// The two parties that register memory of a process.
#pragma once

#include <cstdint>

namespace mpixrma::engine {

/// The party that has made a registration. A program cannot end a registration of its MPI host, which a
/// window relies on.
enum class Registrar : std::uint8_t { host, program };

}  // namespace mpixrma::engine
