/// The arguments of a call of MPIX_RMA_rmw or MPIX_RMA_rmw2 in all its forms.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "engine/op/kernel/types.hpp"
#include "include/mpix_rma.h"
#include "mpix/comm/communicator.hpp"
#include "mpix/request/slot.hpp"

namespace mpixrma {

/// The name of the call and its arguments.
struct RmwCall {
  char const* name;
  int op;  ///< as passed by the caller
  engine::ReduceOp operation;
  void const* operand;
  void const* operand2;
  MPI_Count count;
  MPI_Datatype datatype;
  void* result;
  int rank;
  MPI_Aint displacement;
  MPI_Comm* communicator;
  void const* attributes;
  RequestArgument use = RequestArgument::out;  ///< how a native MPI_Request argument is read
};

inline bool overlap(void const* a, void const* b, std::size_t bytes) noexcept {
  if (a == nullptr || b == nullptr) return false;
  auto const begin = reinterpret_cast<std::uintptr_t>(a);
  auto const other = reinterpret_cast<std::uintptr_t>(b);
  return begin < other + bytes && other < begin + bytes;
}

/// Returns the alignment that target elements need. Elements of 16 bytes and more are updated under locks, so
/// the alignment of the CPU's words suffices.
inline std::size_t alignment_of(engine::ElementType type) noexcept {
  std::size_t const element = std::max<std::size_t>(engine::element_size(type), 1);
  return std::min<std::size_t>(element & -element, sizeof(std::uint64_t));
}

/// Executes a call on mapped memory if the direct path satisfies its attributes, its target is known and its
/// arguments are valid; not for a single word, whose target rmw_general_path() caches. Otherwise returns
/// false, without side effects; the caller must then check all arguments.
bool try_rmw_on_mapped(RmwCall const& call, MPI_Request* request, Communicator const& communicator) noexcept;

/// Executes any call, and caches the target of an update of one mapped word for the next call. Returns an
/// error code after the communicator's error handler was called.
int rmw_general_path(RmwCall const& call, RequestSlot request, Communicator& communicator);

}  // namespace mpixrma
