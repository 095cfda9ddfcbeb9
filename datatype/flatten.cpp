/// Converts the constructors of a derived datatype to a layout.
#include <cstddef>
#include <vector>

#include "datatype/compose.hpp"
#include "datatype/datatype.hpp"
#include "datatype/envelope.hpp"
#include "datatype/predefined.hpp"
#include "engine/op/kernel/whole_elements.hpp"

namespace mpixrma {

namespace {

using engine::Layout;
using engine::OwnedLayout;

/// Merges the element type of `part` into `whole`.
void join(FlatType& whole, FlatType const& part) {
  if (part.size == 0) return;
  if (whole.base == MPI_DATATYPE_NULL) {
    whole.base = part.base;
    whole.element = part.element;
  }
  whole.mixed =
      whole.mixed || part.mixed ||
      (whole.base != part.base &&
       (whole.element != part.element || whole.element == engine::ElementType::none ||
        permitted_operations(whole.base, whole.element) != permitted_operations(part.base, part.element)));
}

/// The layout of MPI_SHORT_INT. The other pair types have padding at their end only, if any.
OwnedLayout short_and_int() {
  struct Pair {
    short value;
    int index;
  };
  static_assert(engine::has_inner_gap(engine::ElementType::short_int));
  engine::LayoutRun const runs[] = {{0, sizeof(short)}, {offsetof(Pair, index), sizeof(int)}};
  return OwnedLayout(Layout{sizeof(short) + sizeof(int), {}, runs});
}

/// Predefined types.
FlatType flatten_named(MPI_Datatype type, DatatypeContents const& contents) {
  FlatType flat;
  MPI_Count size = 0;
  MPI_Type_size_x(type, &size);
  flat.base = type;
  flat.size = static_cast<std::size_t>(size);
  flat.element = is_f90(contents.combiner())
                     ? element_of_f90(contents.combiner(), flat.size, static_cast<int>(contents.integer(0)))
                     : element_of(type);
  flat.layout =
      engine::has_inner_gap(flat.element) ? short_and_int() : OwnedLayout(Layout::contiguous(flat.size));
  return flat;
}

/// Returns `count` blocks of old elements: block i has `length_of(i)` elements and starts at byte
/// `displacement_of(i)`.
OwnedLayout blocks(FlatType const& old, std::size_t count, auto length_of, auto displacement_of) {
  Pieces pieces;
  for (std::size_t i = 0; i < count; ++i) {
    pieces.add(repeat(old.layout, static_cast<std::size_t>(length_of(i)), old.extent), displacement_of(i));
  }
  return pieces.layout();
}

/// The integers are ndims, sizes, subsizes, starts, order.
OwnedLayout subarray(FlatType const& old, DatatypeContents const& contents) {
  auto const dimensions = static_cast<std::size_t>(contents.integer(0));
  bool const c_order = contents.integer(3 * dimensions + 1) == MPI_ORDER_C;
  OwnedLayout layout = old.layout;
  std::ptrdiff_t stride = old.extent;
  std::ptrdiff_t start = 0;
  for (std::size_t i = 0; i < dimensions; ++i) {
    std::size_t const d = c_order ? dimensions - 1 - i : i;  // innermost dimension first
    layout = repeat(layout, static_cast<std::size_t>(contents.integer(1 + dimensions + d)), stride);
    start += contents.integer(1 + 2 * dimensions + d) * stride;
    stride *= contents.integer(1 + d);
  }
  return shift(layout, start);
}

OwnedLayout derive(DatatypeContents const& contents, FlatType const& old) {
  auto const count = [&] { return static_cast<std::size_t>(contents.integer(0)); };
  auto const in_elements = [&](std::size_t first) {
    return [&contents, &old, first](std::size_t i) { return contents.integer(first + i) * old.extent; };
  };
  auto const in_bytes = [&contents](std::size_t i) { return contents.address(i); };
  auto const lengths = [&contents](std::size_t i) { return contents.integer(1 + i); };
  auto const one_length = [&contents](std::size_t) { return contents.integer(1); };
  switch (contents.combiner()) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: return old.layout;
    case MPI_COMBINER_CONTIGUOUS: return repeat(old.layout, count(), old.extent);
    case MPI_COMBINER_VECTOR:
      return repeat(repeat(old.layout, static_cast<std::size_t>(contents.integer(1)), old.extent), count(),
                    contents.integer(2) * old.extent);
    case MPI_COMBINER_HVECTOR:
      return repeat(repeat(old.layout, static_cast<std::size_t>(contents.integer(1)), old.extent), count(),
                    contents.address(0));
    case MPI_COMBINER_INDEXED: return blocks(old, count(), lengths, in_elements(1 + count()));
    case MPI_COMBINER_HINDEXED: return blocks(old, count(), lengths, in_bytes);
    case MPI_COMBINER_INDEXED_BLOCK: return blocks(old, count(), one_length, in_elements(2));
    case MPI_COMBINER_HINDEXED_BLOCK: return blocks(old, count(), one_length, in_bytes);
    case MPI_COMBINER_SUBARRAY: return subarray(old, contents);
    case MPI_COMBINER_DARRAY: return darray(old.layout, old.extent, contents.integers());
    default: throw UnknownDatatype();
  }
}

}  // namespace

FlatType flatten(MPI_Datatype type) {
  DatatypeContents const contents(type);
  FlatType flat;
  if (contents.combiner() == MPI_COMBINER_NAMED || contents.types().empty()) {
    flat = flatten_named(type, contents);
  } else if (contents.combiner() == MPI_COMBINER_STRUCT) {
    Pieces pieces;
    for (std::size_t i = 0; i < contents.types().size(); ++i) {
      FlatType const part = flatten(contents.types()[i]);
      auto const length = static_cast<std::size_t>(contents.integer(1 + i));
      pieces.add(repeat(part.layout, length, part.extent), contents.address(i));
      if (length != 0) join(flat, part);
    }
    flat.layout = pieces.layout();
    flat.size = flat.layout.view().size();
  } else {
    FlatType const old = flatten(contents.types()[0]);
    join(flat, old);
    flat.layout = derive(contents, old);
    flat.size = flat.layout.view().size();
  }
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(type, &lower, &extent);
  flat.extent = extent;
  return flat;
}

}  // namespace mpixrma
