/// Distributed arrays. The layout is computed by MPI's rules and not probed by packing, because MPI_Pack
/// counts in int.
#include <mpi.h>

#include <algorithm>

#include "datatype/compose.hpp"

namespace mpixrma {

namespace {

using engine::OwnedLayout;

/// One dimension of the array, in its elements.
struct Distribution {
  std::size_t size;
  std::size_t processes;
  std::size_t process;  ///< coordinate of the process in this dimension
  std::size_t block;    ///< block size; blocks are assigned to the processes cyclically

  static Distribution of(MPI_Count size, MPI_Count kind, MPI_Count argument, MPI_Count processes,
                         std::size_t process) {
    auto const extent = static_cast<std::size_t>(size);
    auto const parts = static_cast<std::size_t>(processes);
    bool const chosen = argument != MPI_DISTRIBUTE_DFLT_DARG;
    std::size_t block = chosen ? static_cast<std::size_t>(argument) : 1;
    if (kind == MPI_DISTRIBUTE_NONE) block = extent;
    if (kind == MPI_DISTRIBUTE_BLOCK && !chosen) block = (extent + parts - 1) / parts;
    return {extent, parts, process, std::max<std::size_t>(block, 1)};
  }
};

/// Returns the process's elements along one dimension, `stride` bytes apart in the array. Displacements are
/// relative to the process's first block.
OwnedLayout deal(OwnedLayout const& inner, Distribution const& along, std::ptrdiff_t stride) {
  std::size_t const blocks = (along.size + along.block - 1) / along.block;  // blocks of all processes
  std::size_t const own =
      along.process < blocks ? (blocks - along.process + along.processes - 1) / along.processes : 0;
  std::size_t const last_length = along.size - (blocks - 1) * along.block;
  bool const ends_short =
      own != 0 && along.process + (own - 1) * along.processes == blocks - 1 && last_length < along.block;
  std::size_t const whole = ends_short ? own - 1 : own;
  auto const round = static_cast<std::ptrdiff_t>(along.processes * along.block) * stride;
  OwnedLayout const equal = repeat(repeat(inner, along.block, stride), whole, round);
  if (!ends_short) return equal;
  OwnedLayout const rest = repeat(inner, last_length, stride);
  if (whole == 0) return rest;
  Pieces pieces;
  pieces.add(equal, 0);
  pieces.add(rest, static_cast<std::ptrdiff_t>(whole) * round);
  return pieces.layout();
}

}  // namespace

OwnedLayout darray(OwnedLayout const& one, std::ptrdiff_t extent, std::span<MPI_Count const> integers) {
  auto const dimensions = static_cast<std::size_t>(integers[2]);
  auto const sizes = integers.subspan(3, dimensions);
  auto const kinds = integers.subspan(3 + dimensions, dimensions);
  auto const arguments = integers.subspan(3 + 2 * dimensions, dimensions);
  auto const processes = integers.subspan(3 + 3 * dimensions, dimensions);
  bool const c_order = integers[3 + 4 * dimensions] == MPI_ORDER_C;
  // The grid of processes is always in C order.
  std::vector<std::size_t> coordinates(dimensions);
  auto rank = static_cast<std::size_t>(integers[1]);
  for (std::size_t d = dimensions; d-- > 0;) {
    coordinates[d] = rank % static_cast<std::size_t>(processes[d]);
    rank /= static_cast<std::size_t>(processes[d]);
  }
  OwnedLayout layout = one;
  std::ptrdiff_t stride = extent;
  std::ptrdiff_t start = 0;
  for (std::size_t i = 0; i < dimensions; ++i) {
    std::size_t const d = c_order ? dimensions - 1 - i : i;  // innermost first
    auto const along = Distribution::of(sizes[d], kinds[d], arguments[d], processes[d], coordinates[d]);
    layout = deal(layout, along, stride);
    start += static_cast<std::ptrdiff_t>(along.process * along.block) * stride;
    stride *= sizes[d];
  }
  return layout.view().size() == 0 ? OwnedLayout() : shift(layout, start);
}

}  // namespace mpixrma
