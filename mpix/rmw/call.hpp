/// One call of MPIX_RMA_rmw or MPIX_RMA_rmw2, in whatever form it came.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/op/kernel/types.hpp"
#include "include/mpix_rma.h"
#include "mpix/comm/communicator.hpp"

namespace mpixrma {

/// The arguments, and the name of the call.
struct RmwCall {
  char const* name;
  int op;  ///< as given
  engine::Operation operation;
  void const* operand;
  void const* operand2;
  MPI_Count count;
  MPI_Datatype datatype;
  void* result;
  int rank;
  MPI_Aint displacement;
  MPI_Comm* communicator;
  void const* attributes;
};

inline bool overlap(void const* a, void const* b, std::size_t bytes) noexcept {
  if (a == nullptr || b == nullptr) return false;
  auto const begin = reinterpret_cast<std::uintptr_t>(a);
  auto const other = reinterpret_cast<std::uintptr_t>(b);
  return begin < other + bytes && other < begin + bytes;
}

/// What the target's elements have to be aligned to. Those of 16 bytes and more are updated under locks: they
/// need no more than the CPU's words.
inline std::size_t alignment_of(engine::ElementType type) noexcept {
  std::size_t const element = std::max<std::size_t>(engine::element_size(type), 1);
  return std::min<std::size_t>(element & -element, sizeof(std::uint64_t));
}

/// A call without attributes that cost anything on memory that is mapped here, whose target is known and
/// whose arguments are right. False, with nothing done and nothing checked for good, in every other case.
bool rmw_quickly(RmwCall const& call, MPI_Request* request, Communicator const& communicator) noexcept;

}  // namespace mpixrma
