/// Copies and updates of memory that is accessible by pointer.
///
/// No kernel takes a lock, allocates, or assumes alignment unless stated. Callers hold the locks that the
/// operation's flags require (see engine/sync/).
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

/// Contiguous copy; the ranges must not overlap. Power-of-two sizes up to 16 bytes are single stores, so that
/// an aligned word never appears torn to a concurrent reader.
inline void copy_bytes(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  switch (bytes) {
    case 8: std::memcpy(to, from, 8); return;
    case 4: std::memcpy(to, from, 4); return;
    case 16: std::memcpy(to, from, 16); return;
    default: detail::copy_large(to, from, bytes);
  }
}

/// Contiguous copy that bypasses the caches if the processor supports it. `to` is cache-line-aligned; the
/// ranges must not overlap. On return the non-temporal stores are ordered before later stores.
void copy_non_temporal(std::byte* to, std::byte const* from, std::size_t bytes) noexcept;

/// Copies `from` to `to`; both layouts have the same size().
void copy(std::byte* to, Layout const& to_layout, std::byte const* from, Layout const& from_layout) noexcept;

/// Copies `bytes` bytes, starting at byte `position` of the layout's data, to contiguous memory.
void pack(std::byte* to, std::byte const* base, Layout const& layout, std::size_t position,
          std::size_t bytes) noexcept;

/// Inverse of pack.
void unpack(std::byte* base, Layout const& layout, std::size_t position, std::byte const* from,
            std::size_t bytes) noexcept;

/// The effect of an update on each element: target = target (operation) origin, with operand2 if the
/// operation has a second operand, or, with a scale (only with ReduceOp::sum), target = target + scale *
/// origin.
struct Reduction {
  ElementType type = ElementType::none;
  ReduceOp operation = ReduceOp::replace;
  /// Elements are updated by a CPU atomic instruction or compare-and-swap loop, sequentially consistent.
  /// Applies to types with has_cpu_atomics at naturally aligned addresses, and is ignored for others.
  bool element_atomic = false;
  /// One element of `type`, or nullptr. Read during the call only.
  void const* scale = nullptr;
};

class UpdateModes;

/// The memory in which element_atomic applies.
struct AtomicRegions {
  UpdateModes const* modes = nullptr;  ///< only in memory of mode `elements`; null: everywhere
  std::uint64_t shift = 0;             ///< offset from the mapped address here to the address in `modes`
};

/// Whether `reduction` is a defined combination of type, operation and scale.
bool is_valid(Reduction const& reduction) noexcept;

/// The memory of an update. All layouts have the same size(), a multiple of the element size, and runs of
/// whole elements (but see has_inner_gap). The sides must not overlap.
struct UpdateSides {
  std::byte* target;
  Layout target_layout;
  std::byte const* origin;    ///< unused if the operation has no operand
  std::byte const* operand2;  ///< same layout as `origin`; unused if the operation has no second operand
  Layout origin_layout;
  std::byte* result;  ///< receives the previous elements; null: no fetch
  Layout result_layout;
};

/// target[i] = f(target[i], origin[i], operand2[i]), result[i] = previous target[i]. `reduction` must be
/// valid.
void update(Reduction const& reduction, UpdateSides const& sides, AtomicRegions const& places = {}) noexcept;

/// The sides of an update except for the target, packed.
struct PackedSides {
  std::byte const* origin;
  std::byte const* operand2;
  std::byte* result;
  std::size_t bytes;  ///< size of each
};

/// As update(), for contiguous sides; not for a NO_OP without a result.
void update_contiguous(Reduction const& reduction, std::byte* target, PackedSides const& sides,
                       AtomicRegions const& places = {}) noexcept;

/// Updates bytes [position, position + packed.bytes) of the layout's data; both numbers are multiples of the
/// element size.
void update_part(Reduction const& reduction, std::byte* base, Layout const& layout, std::size_t position,
                 PackedSides const& packed, AtomicRegions const& places = {}) noexcept;

/// An update of `bytes` contiguous bytes without result, by an operation with at most one operand;
/// element_atomic applies everywhere.
void accumulate_contiguous(Reduction const& reduction, std::byte* to, std::byte const* from,
                           std::size_t bytes) noexcept;

/// As accumulate_contiguous(), for `count` segments of `bytes` bytes: segment i of the target is at
/// to[i] + shift. The elements are not updated by CPU atomics.
void accumulate_list(Reduction const& reduction, void* const* to, std::ptrdiff_t shift, void* const* from,
                     std::size_t count, std::size_t bytes) noexcept;

/// Whether the CPU's atomic instructions can update the elements from `address` on.
inline bool is_cpu_atomic(ElementType type, std::uint64_t address) noexcept {
  // These types have a power-of-two size, or none if untyped, so no division is needed.
  return has_cpu_atomics(type) && (element_size(type) <= 1 || (address & (element_size(type) - 1)) == 0);
}

}  // namespace mpixrma::engine
