/// The kinds of access to memory.
#pragma once

#include <cstdint>

namespace mpixrma::engine {

enum class Access : std::uint8_t { read, write };

}  // namespace mpixrma::engine
