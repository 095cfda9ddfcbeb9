/// MPI's predefined datatypes, and the effect of every operation on one element: a reference written without
/// the library.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace mpixrma::stress {

using Random = std::mt19937_64;

/// Operations of an accumulate.
enum class Combine { replace, no_op, sum, prod, min, max, land, lor, lxor, band, bor, bxor, minloc, maxloc };
constexpr int combines = 14;
MPI_Op handle_of(Combine op);

/// Operations of rmw, in the order of MPIX_RMW_Op, then those of rmw2 from `mask_swap` on.
enum class Modify {
  increment,
  prod,
  sum,
  land,
  lor,
  lxor,
  band,
  bor,
  bxor,
  swap,
  mask_swap,
  lt,
  le,
  eq,
  ge,
  gt,
  ne
};
constexpr int modifies = 17;

/// Operations of a C type. Pointers need no alignment.
struct Arithmetic {
  std::size_t size = 0;
  std::uint8_t significant[32] = {};  ///< 0: padding, which has any value after an update
  std::size_t gap_at = 0;             ///< padding that is not in the type map, which a put or get leaves as it is
  std::size_t gap_bytes = 0;
  bool (*has_combine)(Combine op) = nullptr;
  bool (*has_modify)(Modify op) = nullptr;
  /// target = target (op) origin; with a scale, target + scale * origin.
  void (*combine)(Combine op, std::byte* target, std::byte const* origin, std::byte const* scale) = nullptr;
  void (*modify)(Modify op, std::byte* target, std::byte const* operand, std::byte const* operand2) = nullptr;
  /// Generates a value whose results stay exact; with `factor`, one to multiply with.
  void (*fill)(Random& random, bool factor, std::byte* value) = nullptr;
};

/// Each zone of memory holds values of one C type, but the first: there any bytes are valid.
constexpr int zones = 18;

struct Base {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::size_t size = 0;                    ///< padding included
  Arithmetic const* arithmetic = nullptr;  ///< nullptr: can be moved only
  int zone = 0;
  bool logical = false;  ///< only logical operations are defined

  bool has(Combine op) const;
  bool has(Modify op) const;

  std::size_t gap_bytes() const { return arithmetic != nullptr ? arithmetic->gap_bytes : 0; }
  std::size_t data_bytes() const { return size - gap_bytes(); }
  /// Calls visit(offset, bytes) for the parts of an element that its type map names.
  template <typename Visit>
  void for_each_part(Visit visit) const {
    if (gap_bytes() == 0) return visit(std::size_t{0}, size);
    std::size_t const behind = arithmetic->gap_at + arithmetic->gap_bytes;
    visit(std::size_t{0}, arithmetic->gap_at);
    if (behind != size) visit(behind, size - behind);
  }
};

/// Returns the predefined datatypes that this MPI has with the extent of their C type. To be called after
/// MPI_Init.
std::vector<Base> make_bases();

}  // namespace mpixrma::stress
