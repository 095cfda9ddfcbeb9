/// Contiguous copies, and the choice of the instruction set.
#include "engine/op/kernel/kernels.hpp"

#include <cstdint>
#if MPIX_KERNEL_X86_64
#include <emmintrin.h>
#endif

#include "engine/op/kernel/row_kernels.hpp"

namespace mpixrma::engine {

namespace {

RowKernels const* choose() noexcept {
#if MPIX_KERNEL_VECTOR_SETS
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    return &row_kernels_x86_64_v4();
  }
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma")) {
    return &row_kernels_x86_64_v3();
  }
#endif
  return &row_kernels_baseline();
}

template <typename Word>
void copy_ends(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  Word head;
  Word tail;
  std::memcpy(&head, from, sizeof head);
  std::memcpy(&tail, from + bytes - sizeof tail, sizeof tail);
  std::memcpy(to, &head, sizeof head);
  std::memcpy(to + bytes - sizeof tail, &tail, sizeof tail);
}

}  // namespace

RowKernels const* const active_kernels = choose();

void detail::copy_large(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
  if (bytes > 16) {
    bytes < min_table_copy_bytes ? (void)std::memcpy(to, from, bytes) : copy_by_table(to, from, bytes);
  } else if (bytes > 8) {
    copy_ends<std::uint64_t>(to, from, bytes);
  } else if (bytes > 4) {
    copy_ends<std::uint32_t>(to, from, bytes);
  } else if (bytes >= 2) {
    copy_ends<std::uint16_t>(to, from, bytes);
  } else if (bytes == 1) {
    *to = *from;
  }
}

void copy_non_temporal(std::byte* to, std::byte const* from, std::size_t bytes) noexcept {
#if MPIX_KERNEL_X86_64
  constexpr std::size_t line = 64;
  for (; bytes >= line; bytes -= line, to += line, from += line) {
    for (std::size_t i = 0; i < line; i += sizeof(__m128i))
      _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                       _mm_loadu_si128(reinterpret_cast<__m128i const*>(from + i)));
  }
  _mm_sfence();  // orders later stores after these
#endif
  copy_bytes(to, from, bytes);
}

}  // namespace mpixrma::engine
