/// libsodium and its common initialisation.
#pragma once

#include <sodium.h>

#include <cstddef>
#include <cstdlib>

namespace mpixrma::nam {

/// Call it before the first use of libsodium. Thread-safe; may be called repeatedly.
inline void require_sodium() {
  if (sodium_init() < 0) std::abort();
}

inline unsigned char const* raw(std::byte const* bytes) noexcept {
  return reinterpret_cast<unsigned char const*>(bytes);
}
inline unsigned char* raw(std::byte* bytes) noexcept { return reinterpret_cast<unsigned char*>(bytes); }

}  // namespace mpixrma::nam
