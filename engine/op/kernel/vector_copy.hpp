/// Contiguous copies by vectors, for the source file that is compiled once per instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/op/kernel/row_kernels.hpp"

namespace mpixrma::engine {
namespace {

/// Whether the stores of an ascending copy delay its later loads: the processor takes a load to depend on a
/// recent store if the low 12 bits of their addresses match.
inline bool stores_delay_loads(void const* to, void const* from) noexcept {
  std::uintptr_t const ahead =
      (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % 4096;
  return ahead != 0 && ahead < 2048;
}

#if defined(__AVX2__)
#if defined(__AVX512F__)
inline constexpr std::size_t vector_bytes = 64;
#else
inline constexpr std::size_t vector_bytes = 32;
#endif

struct VectorCopy {
  typedef std::uint64_t Vector __attribute__((vector_size(vector_bytes), may_alias));
  typedef Vector AnyPlace __attribute__((aligned(1), may_alias));

  static constexpr std::size_t block = 256;
  static constexpr std::size_t vectors = block / vector_bytes;

  static Vector load(std::byte const* from) noexcept { return *reinterpret_cast<AnyPlace const*>(from); }
  static void store(std::byte* to, Vector value) noexcept { *reinterpret_cast<Vector*>(to) = value; }
  static void store_anywhere(std::byte* to, Vector value) noexcept {
    *reinterpret_cast<AnyPlace*>(to) = value;
  }
  static void copy_block(std::byte* to, std::byte const* from) noexcept {
    Vector values[vectors];
    for (std::size_t i = 0; i < vectors; ++i) values[i] = load(from + i * vector_bytes);
    for (std::size_t i = 0; i < vectors; ++i) store(to + i * vector_bytes, values[i]);
  }

  /// `bytes` is at least `block`. Both ends are copied by separate vectors, so that the part between them
  /// begins and ends at aligned addresses of `to`.
  static void run(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
    Vector const head = load(from);
    Vector const tail = load(from + bytes - vector_bytes);
    std::size_t begin = -reinterpret_cast<std::uintptr_t>(to) % vector_bytes;
    std::size_t end = bytes - reinterpret_cast<std::uintptr_t>(to + bytes) % vector_bytes;
    if (stores_delay_loads(to, from)) {
      for (; end - begin >= block; end -= block) copy_block(to + end - block, from + end - block);
    } else {
      for (; end - begin >= block; begin += block) copy_block(to + begin, from + begin);
    }
    for (; begin < end; begin += vector_bytes) store(to + begin, load(from + begin));
    store_anywhere(to, head);
    store_anywhere(to + bytes - vector_bytes, tail);
  }
};
#endif

}  // namespace
}  // namespace mpixrma::engine
