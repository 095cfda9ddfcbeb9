/// Methods of large contiguous copies, and the table that decides between them.
///
/// No method is the fastest on every processor: the C library's copy, vectors and the processor's string copy
/// differ by up to fourteen times, depending on the size and on the distance of the two sides within a page.
/// The table has a decision for each class of both. Unset decisions mean the C library.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/op/kernel/row_kernels.hpp"

namespace mpixrma::engine {

enum class CopyMethod : std::uint8_t {
  library,  ///< memcpy
  vector,   ///< the widest vectors of the processor
  string    ///< the processor's string copy (rep movsb)
};
inline constexpr std::size_t copy_method_count = 3;

/// Distance from the source's offset in a page to the destination's. Loads are delayed where the destination
/// is a little ahead: the processor takes them for loads of what was just stored.
enum class CopyShift : std::uint8_t {
  alike,  ///< a multiple of a cache line
  close,  ///< ahead by less than a cache line
  ahead,  ///< ahead by less than half a page
  other
};
inline constexpr std::size_t copy_shift_count = 4;

/// Number of size classes. Each begins at four times the size of the one before; the last one has no end.
inline constexpr std::size_t copy_size_count = 7;

constexpr std::size_t first_size_of_class(std::size_t size_class) noexcept {
  return min_table_copy_bytes << (2 * size_class);
}

/// `bytes` is at least min_table_copy_bytes.
constexpr std::size_t copy_size_class(std::size_t bytes) noexcept {
  constexpr int first = std::bit_width(min_table_copy_bytes);
  return std::min(static_cast<std::size_t>(std::bit_width(bytes) - first) / 2, copy_size_count - 1);
}

inline CopyShift copy_shift(void const* to, void const* from) noexcept {
  constexpr std::uintptr_t page = 4096;
  constexpr std::uintptr_t line = 64;
  std::uintptr_t const shift =
      (reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(from)) % page;
  if (shift % line == 0) return CopyShift::alike;
  if (shift < line) return CopyShift::close;
  return shift < page / 2 ? CopyShift::ahead : CopyShift::other;
}

/// Decisions by size class and shift.
struct CopyTable {
  std::array<std::array<std::optional<CopyMethod>, copy_shift_count>, copy_size_count> methods;

  std::optional<CopyMethod>& at(std::size_t size_class, CopyShift shift) noexcept {
    return methods[size_class][static_cast<std::size_t>(shift)];
  }
  std::optional<CopyMethod> at(std::size_t size_class, CopyShift shift) const noexcept {
    return methods[size_class][static_cast<std::size_t>(shift)];
  }
  bool operator==(CopyTable const&) const = default;
};

/// Calls visit(size class, shift) for each decision, in ascending order of sizes.
template <typename Visit>
void for_every_copy_decision(Visit visit) {
  for (std::size_t size_class = 0; size_class < copy_size_count; ++size_class)
    for (std::size_t shift = 0; shift < copy_shift_count; ++shift)
      visit(size_class, static_cast<CopyShift>(shift));
}

/// The decisions of `first`, and those of `second` where `first` has none.
CopyTable merge(CopyTable const& first, CopyTable const& second) noexcept;

/// Whether this processor has the method.
bool is_available(CopyMethod method) noexcept;

/// Makes all copies of the process that have at least min_table_copy_bytes bytes follow `table`. Methods that
/// are not available mean the C library.
void use_copy_methods(CopyTable const& table) noexcept;

/// The method of a copy of at least min_table_copy_bytes bytes by the table in use.
CopyMethod copy_method(void const* to, void const* from, std::size_t bytes) noexcept;

/// Copies at least min_table_copy_bytes bytes by an available method; the ranges must not overlap.
void copy_by(CopyMethod method, std::byte* to, std::byte const* from, std::size_t bytes) noexcept;

char const* name_of(CopyMethod method) noexcept;
char const* name_of(CopyShift shift) noexcept;
/// The name of a size class is its first size: "2k", "512k", "2m".
char const* name_of_copy_size(std::size_t size_class) noexcept;

/// Sets decisions in `table` by a list of `METHOD`, `SIZE=METHOD` and `SIZE.SHIFT=METHOD` separated by
/// commas, of which later items prevail. "auto" sets none. Returns the first invalid item; empty: there is
/// none.
std::string_view read_copy_methods(std::string_view text, CopyTable& table) noexcept;

/// Returns the decisions that are set, in the format of read_copy_methods().
std::string to_text(CopyTable const& table);

}  // namespace mpixrma::engine
