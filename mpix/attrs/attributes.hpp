/// Attributes of an operation: their definition, the merge of those of the call, the request and the
/// communicator, and the engine's operation flags that stand for them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "engine/op/operation.hpp"
#include "include/mpix_rma.h"

namespace mpixrma {

/// One entry per attribute. docs/extending.md (An attribute) lists the places that a new one changes.
struct AttributeEntry {
  char const* name;         ///< name of the key macro
  std::uint64_t bits;       ///< bits in MPIX_RMA_Attributes::set
  std::uint64_t flag_bits;  ///< the subset of `bits` that sets `flags`
  engine::OpFlags flags;
  /// Sets the attribute in `attributes` from a value as passed to MPI_Comm_set_attr. Returns false for an
  /// invalid value.
  bool (*assign)(MPIX_RMA_Attributes& attributes, void* value);
  /// Copies the attribute's value, if it has one.
  void (*inherit)(MPIX_RMA_Attributes& to, MPIX_RMA_Attributes const& from);
};

inline constexpr std::size_t attribute_count = 8;
extern std::array<AttributeEntry, attribute_count> const attribute_table;

/// Returns a value as passed to MPI_Comm_set_attr, for error texts.
std::string text_of_value(AttributeEntry const& attribute, void* value);

/// A flag in a communicator's cached word: the attributes must be read again.
inline constexpr std::uint64_t attributes_outdated = std::uint64_t{1} << 63;

/// Returns the bits of all attributes.
std::uint64_t known_attributes() noexcept;

/// Whether the pointer is a bit mask rather than the address of attributes. Must not be called with null.
inline bool is_mask(MPIX_RMA_Attributes const* attributes) noexcept {
  constexpr std::uintptr_t page = 4096;
  return reinterpret_cast<std::uintptr_t>(attributes) < page;
}

/// Returns the attributes set for a call; for a mask, a bit that no fast path accepts.
inline std::uint64_t bits_of(MPIX_RMA_Attributes const* attributes) noexcept {
  if (attributes == nullptr) return 0;
  return is_mask(attributes) ? attributes_outdated : attributes->set;
}

inline bool are_known(MPIX_RMA_Attributes const* attributes) noexcept {
  return (bits_of(attributes) & ~known_attributes()) == 0;
}

/// Adds the attributes that are set in `weaker` but not in `to`.
void join(MPIX_RMA_Attributes& to, MPIX_RMA_Attributes const& weaker) noexcept;

engine::OpFlags op_flags_of(std::uint64_t set) noexcept;

}  // namespace mpixrma
