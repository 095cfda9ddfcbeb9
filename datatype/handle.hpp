/// Conversion of MPI handles to numbers: handles are pointers in some MPI libraries and integers in others.
#pragma once

#include <cstdint>
#include <type_traits>

namespace mpixrma {

template <typename Handle>
std::uintptr_t number_of(Handle handle) noexcept {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<std::uintptr_t>(handle);
  } else {
    return static_cast<std::make_unsigned_t<Handle>>(handle);
  }
}

/// Returns the handle that number_of() converted to `number`.
template <typename Handle>
Handle handle_of(std::uintptr_t number) noexcept {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<Handle>(number);
  } else {
    return static_cast<Handle>(number);
  }
}

}  // namespace mpixrma
