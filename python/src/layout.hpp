/// NumPy's element types and strides as MPI datatypes.
#pragma once

#include <memory>
#include <span>

#include "python.hpp"

#include "mpix_rma.h"

namespace mpixrma::python {

/// The MPI datatype of an array's elements; `per_item` of it are one of NumPy's items.
struct Element {
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  int per_item = 1;
};

/// A committed datatype that is freed with its last user.
using Layout = std::shared_ptr<std::remove_pointer_t<MPI_Datatype>>;

struct Strides {
  std::span<Py_ssize_t const> shape;
  std::span<Py_ssize_t const> strides;  // bytes
  Py_ssize_t item_size;
};

/// Whether the elements follow each other without gaps, in C's order.
bool is_contiguous(Strides const& strides) noexcept;
/// Product of the shape.
Py_ssize_t item_count(std::span<Py_ssize_t const> shape) noexcept;

/// A layout of all items in C's order, from the address of the first one. Equal arguments give the same
/// datatype as long as the cache holds it. Raises OverflowError where an extent exceeds int.
Layout strided_layout(Element element, Strides const& strides);
/// Entries of the cache, for tests.
std::size_t cached_layouts() noexcept;

}  // namespace mpixrma::python
