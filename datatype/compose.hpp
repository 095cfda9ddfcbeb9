/// Composition of layouts, as the constructors of derived datatypes need it.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

#include "engine/op/layout/layout.hpp"

namespace mpixrma {

/// Returns `count` copies of `one` whose starts are `stride` bytes apart.
engine::OwnedLayout repeat(engine::OwnedLayout const& one, std::size_t count, std::ptrdiff_t stride);

/// Returns `layout` shifted by `displacement` bytes.
engine::OwnedLayout shift(engine::OwnedLayout const& layout, std::ptrdiff_t displacement);

/// Collects pieces at displacements, in order, as a list of runs.
class Pieces {
 public:
  void add(engine::OwnedLayout const& piece, std::ptrdiff_t displacement);
  engine::OwnedLayout layout() const { return engine::OwnedLayout(engine::Layout{bytes_, {}, runs_}); }

 private:
  std::vector<engine::LayoutRun> runs_;
  std::size_t bytes_ = 0;
};

/// Returns the process's part of a distributed array (MPI 3.1, 4.1.4) with elements `one` of extent `extent`.
/// `integers` as MPI_Type_get_contents gives them: size, rank, ndims, gsizes, distribs, dargs, psizes, order.
engine::OwnedLayout darray(engine::OwnedLayout const& one, std::ptrdiff_t extent,
                           std::span<MPI_Count const> integers);

}  // namespace mpixrma
