/// Attributes of an operation: what they are, how those of the call, the request and the communicator join,
/// and what they ask of the engine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "engine/op/operation.hpp"
#include "include/mpix_rma.h"

namespace mpixrma {

/// One entry per attribute. To add one: a bit, a key macro and, where it has a value, a field in the public
/// header, and a line in attribute_table.
struct AttributeEntry {
  char const* name;              ///< of its key macro
  std::uint64_t bits;            ///< of MPIX_RMA_Attributes::set
  std::uint64_t guarantee_bits;  ///< those of `bits` that ask for `guarantee`
  engine::Guarantee guarantee;
  /// Sets it in `attributes` from a value as MPI_Comm_set_attr gets it; false: not a value of this attribute.
  bool (*assign)(MPIX_RMA_Attributes& attributes, void* value);
  /// Copies its value, where it has one.
  void (*inherit)(MPIX_RMA_Attributes& to, MPIX_RMA_Attributes const& from);
};

inline constexpr std::size_t attribute_count = 8;
extern std::array<AttributeEntry, attribute_count> const attribute_table;

/// Set in the cached word of a communicator whose attributes have to be read again.
inline constexpr std::uint64_t attributes_outdated = std::uint64_t{1} << 63;

/// Bits of all attributes.
std::uint64_t known_attributes() noexcept;

/// Whether a value is a bit mask in place of an address of attributes. Not for null.
inline bool is_mask(MPIX_RMA_Attributes const* attributes) noexcept {
  constexpr std::uintptr_t page = 4096;
  return reinterpret_cast<std::uintptr_t>(attributes) < page;
}

/// The attributes set of a call; a bit that no fast way accepts where there is a mask instead.
inline std::uint64_t bits_of(MPIX_RMA_Attributes const* attributes) noexcept {
  if (attributes == nullptr) return 0;
  return is_mask(attributes) ? attributes_outdated : attributes->set;
}

inline bool are_known(MPIX_RMA_Attributes const* attributes) noexcept {
  return (bits_of(attributes) & ~known_attributes()) == 0;
}

/// Adds what is set in `weaker` and not in `to`.
void join(MPIX_RMA_Attributes& to, MPIX_RMA_Attributes const& weaker) noexcept;

engine::Guarantee guarantees_of(std::uint64_t set) noexcept;

}  // namespace mpixrma
