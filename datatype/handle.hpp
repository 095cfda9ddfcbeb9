/// Conversion of MPI handles to words: handles are pointers in some MPI libraries and integers in others.
#pragma once

#include <cstdint>
#include <type_traits>

namespace mpixrma {

template <typename Handle>
std::uintptr_t word_of(Handle handle) noexcept {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::make_unsigned_t<Handle>>(handle);
  }
}

/// Returns the handle that word_of() converted to `word`.
template <typename Handle>
Handle handle_from(std::uintptr_t word) noexcept {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(word);
  } else {
    return static_cast<Handle>(word);
  }
}

}  // namespace mpixrma
