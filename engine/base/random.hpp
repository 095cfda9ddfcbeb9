/// Random bytes from the kernel, which no other process can predict.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <span>

namespace mpixrma::engine {

/// Fills up to 256 bytes. Aborts the process if the kernel has no random bytes, because secrets made of other
/// bytes could be guessed.
inline void fill_randomly(std::span<std::byte> bytes) noexcept {
  if (::getentropy(bytes.data(), bytes.size()) != 0) std::abort();
}

}  // namespace mpixrma::engine
