/// Copy, accumulate and read-modify-write over memory that is reachable by pointer.
///
/// No kernel takes a lock, allocates, or assumes alignment. Callers hold whatever lock the
/// operation's guarantees ask for (see engine/atomic/).
#pragma once

#include <cstddef>
#include <cstring>

#include "engine/kernel/types.hpp"
#include "engine/layout/layout.hpp"

namespace mpix::engine {

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

/// Copies `from` to `to`; both layouts have the same size().
void copy(std::byte* to, Layout const& to_layout, std::byte const* from, Layout const& from_layout) noexcept;

/// Copies `bytes` bytes, starting at byte `position` of the layout's data, to contiguous memory.
void pack(std::byte* to, std::byte const* base, Layout const& layout, std::size_t position,
          std::size_t bytes) noexcept;

/// Inverse of pack.
void unpack(std::byte* base, Layout const& layout, std::size_t position, std::byte const* from,
            std::size_t bytes) noexcept;

/// What an accumulate does to each element: target = target (operation) origin, or, with a scale
/// (only with Operation::sum), target = target + scale * origin.
struct Reduction {
  ElementType type = ElementType::none;
  Operation operation = Operation::replace;
  /// Every element is updated by a CPU atomic instruction or compare-and-swap loop. Only for types with
  /// has_cpu_atomics and elements at naturally aligned addresses, ignored for others. Slower; asked for where
  /// read-modify-write operations use the CPU's atomics on the same elements.
  bool element_atomic = false;
  /// One element of `type`, or nullptr. Read during the call only.
  void const* scale = nullptr;
};

/// Whether `reduction` names a defined combination of type, operation and scale.
bool is_valid(Reduction const& reduction) noexcept;

/// Accumulates `from` into `to`; both layouts have the same size(), whose runs are multiples of the
/// element size. `reduction` must be valid.
void accumulate(Reduction const& reduction, std::byte* to, Layout const& to_layout, std::byte const* from,
                Layout const& from_layout) noexcept;

/// The same with `bytes` contiguous bytes on both sides.
void accumulate_contiguous(Reduction const& reduction, std::byte* to, std::byte const* from,
                           std::size_t bytes) noexcept;

/// Accumulates `bytes` contiguous bytes into the layout's data from byte `position` on.
void accumulate_packed(Reduction const& reduction, std::byte* base, Layout const& layout,
                       std::size_t position, std::byte const* from, std::size_t bytes) noexcept;

/// Whether rmw() on elements from `address` on can use the CPU's atomic instructions.
inline bool is_cpu_atomic(ElementType type, std::uint64_t address) noexcept {
  // These types have a power of two of bytes, or, untyped, none: no division.
  return has_cpu_atomics(type) && (element_size(type) <= 1 || (address & (element_size(type) - 1)) == 0);
}

/// target[i] = f(target[i], operand[i], operand2[i]), result[i] = old target[i] for `count` elements.
/// `operand` may be null for increment, `operand2` where the operation has one operand, `result` to
/// fetch nothing. With `cpu_atomic` each element is updated by one CPU atomic operation, sequentially
/// consistent; is_cpu_atomic must hold for each. The pair must satisfy is_defined.
void rmw(RmwOperation operation, ElementType type, std::byte* target, std::byte const* operand,
         std::byte const* operand2, std::byte* result, std::size_t count, bool cpu_atomic) noexcept;

}  // namespace mpix::engine
