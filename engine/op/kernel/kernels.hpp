/// Copies and updates of memory that is reachable by pointer.
///
/// No kernel takes a lock, allocates, or assumes alignment. Callers hold whatever lock the
/// operation's guarantees ask for (see engine/sync/).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "engine/op/kernel/types.hpp"
#include "engine/op/layout/layout.hpp"

namespace mpixrma::engine {

namespace detail {
void copy_large(std::byte* to, std::byte const* from, std::size_t bytes) noexcept;
}

/// Contiguous copy; the ranges may not overlap. Power-of-two sizes up to 16 bytes are single stores,
/// so that an aligned word never appears torn to a concurrent reader.
inline void copy_bytes(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  switch (bytes) {
    case 8: std::memcpy(to, from, 8); return;
    case 4: std::memcpy(to, from, 4); return;
    case 16: std::memcpy(to, from, 16); return;
    default: detail::copy_large(to, from, bytes);
  }
}

/// Contiguous copy to an address at the beginning of a cache line, past the caches into memory where the
/// processor can; the ranges may not overlap. Complete, for others that see what is written afterwards, when
/// it returns.
void copy_past_caches(std::byte* to, std::byte const* from, std::size_t bytes) noexcept;

/// Copies `from` to `to`; both layouts have the same size().
void copy(std::byte* to, Layout const& to_layout, std::byte const* from, Layout const& from_layout) noexcept;

/// Copies `bytes` bytes, starting at byte `position` of the layout's data, to contiguous memory.
void pack(std::byte* to, std::byte const* base, Layout const& layout, std::size_t position,
          std::size_t bytes) noexcept;

/// Inverse of pack.
void unpack(std::byte* base, Layout const& layout, std::size_t position, std::byte const* from,
            std::size_t bytes) noexcept;

/// What an update does to each element: target = target (operation) origin, with operand2 where the operation
/// has a second operand, or, with a scale (only with Operation::sum), target = target + scale * origin.
struct Reduction {
  ElementType type = ElementType::none;
  Operation operation = Operation::replace;
  /// Elements are updated by a CPU atomic instruction or compare-and-swap loop, sequentially consistent. Only
  /// for types with has_cpu_atomics and elements at naturally aligned addresses, ignored for others.
  bool element_atomic = false;
  /// One element of `type`, or nullptr. Read during the call only.
  void const* scale = nullptr;
};

class UpdateModes;

/// Where the elements lie that an update with element_atomic updates so.
struct AtomicPlaces {
  UpdateModes const* modes = nullptr;  ///< in memory of this mode only; null: everywhere
  std::uint64_t shift = 0;             ///< from memory as it is mapped here to its address in `modes`
};

/// Whether `reduction` names a defined combination of type, operation and scale.
bool is_valid(Reduction const& reduction) noexcept;

/// The memory of an update. All layouts have the same size(), a multiple of the element size, and runs of
/// whole elements (but see has_inner_gap). The sides do not overlap.
struct UpdateSides {
  std::byte* target;
  Layout target_layout;
  std::byte const* origin;    ///< not used where the operation has no operand
  std::byte const* operand2;  ///< in the same layout; not used where the operation has no second operand
  Layout origin_layout;
  std::byte* result;  ///< receives the previous elements; null: nothing is fetched
  Layout result_layout;
};

/// target[i] = f(target[i], origin[i], operand2[i]), result[i] = previous target[i]. `reduction` must be
/// valid.
void update(Reduction const& reduction, UpdateSides const& sides, AtomicPlaces const& places = {}) noexcept;

/// The sides of an update but the target, packed.
struct PackedSides {
  std::byte const* origin;
  std::byte const* operand2;
  std::byte* result;
  std::size_t bytes;  ///< of each
};

/// update() of sides that are contiguous, and not a NO_OP without a result.
void update_contiguous(Reduction const& reduction, std::byte* target, PackedSides const& sides,
                       AtomicPlaces const& places = {}) noexcept;

/// Updates bytes [position, position + packed.bytes) of the layout's data; both are multiples of the element
/// size.
void update_part(Reduction const& reduction, std::byte* base, Layout const& layout, std::size_t position,
                 PackedSides const& packed, AtomicPlaces const& places = {}) noexcept;

/// An update without result by an operation of at most one operand, of `bytes` contiguous bytes; with
/// element_atomic everywhere.
void accumulate_contiguous(Reduction const& reduction, std::byte* to, std::byte const* from,
                           std::size_t bytes) noexcept;

/// Whether the CPU's atomic instructions can update the elements from `address` on.
inline bool is_cpu_atomic(ElementType type, std::uint64_t address) noexcept {
  // These types have a power of two of bytes, or, untyped, none: no division.
  return has_cpu_atomics(type) && (element_size(type) <= 1 || (address & (element_size(type) - 1)) == 0);
}

}  // namespace mpixrma::engine
