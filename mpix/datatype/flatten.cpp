/// From the constructors of a derived datatype to a layout.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "mpix/datatype/datatype.hpp"
#include "mpix/datatype/predefined.hpp"

namespace mpix {

namespace {

using engine::Dimension;
using engine::Layout;
using engine::LayoutCursor;
using engine::OwnedLayout;
using engine::Segment;

/// The arguments with which a datatype was made.
struct Contents {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Datatype> types;

  explicit Contents(MPI_Datatype type) {
    int counts[3];
    MPI_Type_get_envelope(type, &counts[0], &counts[1], &counts[2], &combiner);
    if (combiner == MPI_COMBINER_NAMED) return;
    integers.resize(static_cast<std::size_t>(counts[0]));
    addresses.resize(static_cast<std::size_t>(counts[1]));
    types.resize(static_cast<std::size_t>(counts[2]));
    MPI_Type_get_contents(type, counts[0], counts[1], counts[2], integers.data(), addresses.data(),
                          types.data());
  }
  ~Contents() {
    for (MPI_Datatype& type : types) {
      int counts[3];
      int inner = MPI_COMBINER_NAMED;
      MPI_Type_get_envelope(type, &counts[0], &counts[1], &counts[2], &inner);
      if (inner != MPI_COMBINER_NAMED) MPI_Type_free(&type);
    }
  }
  Contents(Contents const&) = delete;
  Contents& operator=(Contents const&) = delete;

  int integer(std::size_t i) const { return integers[i]; }
};

OwnedLayout repeat(OwnedLayout const& one, std::size_t count, std::ptrdiff_t stride) {
  if (count == 1) return one;
  Layout layout = one.view();
  std::vector<Dimension> dims(layout.dims.begin(), layout.dims.end());
  dims.push_back({count, stride});
  layout.dims = dims;
  if (dims.size() < engine::max_dimensions / 2) return OwnedLayout(layout);
  // Deeply nested: as a list, so that a count still finds room for its dimension.
  std::vector<Segment> runs;
  LayoutCursor cursor(layout);
  while (cursor.remaining() != 0) runs.push_back(cursor.next());
  return OwnedLayout(Layout{layout.size(), {}, runs});
}

/// Collects pieces at displacements, in order.
class Pieces {
 public:
  void add(OwnedLayout const& piece, std::ptrdiff_t displacement) {
    LayoutCursor cursor(piece.view());
    while (cursor.remaining() != 0) {
      Segment run = cursor.next();
      run.offset += displacement;
      bytes_ += run.length;
      runs_.push_back(run);
    }
  }
  OwnedLayout layout() const { return OwnedLayout(Layout{bytes_, {}, runs_}); }

 private:
  std::vector<Segment> runs_;
  std::size_t bytes_ = 0;
};

OwnedLayout shift(OwnedLayout const& layout, std::ptrdiff_t displacement) {
  if (displacement == 0) return layout;
  Layout const view = layout.view();
  Segment const whole{0, view.block};
  std::vector<Segment> segments(view.segments.begin(), view.segments.end());
  if (segments.empty()) segments.push_back(whole);
  for (Segment& segment : segments) segment.offset += displacement;
  return OwnedLayout(Layout{view.block, view.dims, segments});
}

/// Notes what `part` is built of.
void join(FlatType& whole, FlatType const& part) {
  if (part.size == 0) return;
  if (whole.base == MPI_DATATYPE_NULL) {
    whole.base = part.base;
    whole.element = part.element;
  }
  whole.mixed = whole.mixed || part.mixed ||
                (whole.base != part.base &&
                 (whole.element != part.element || whole.element == engine::ElementType::none));
}

FlatType flatten_named(MPI_Datatype type) {
  FlatType flat;
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  int size = 0;
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_size(type, &size);
  flat.base = type;
  flat.element = element_of(type);
  flat.size = static_cast<std::size_t>(is_pair(flat.element) ? extent : size);
  flat.layout = OwnedLayout(Layout::contiguous(flat.size));
  return flat;
}

/// Blocks of `length` old elements at displacements in bytes.
OwnedLayout blocks(FlatType const& old, std::size_t count, auto length_of, auto displacement_of) {
  Pieces pieces;
  for (std::size_t i = 0; i < count; ++i) {
    pieces.add(repeat(old.layout, static_cast<std::size_t>(length_of(i)), old.extent), displacement_of(i));
  }
  return pieces.layout();
}

/// integers: ndims, sizes, subsizes, starts, order.
OwnedLayout subarray(FlatType const& old, Contents const& contents) {
  auto const dimensions = static_cast<std::size_t>(contents.integer(0));
  bool const c_order = contents.integer(3 * dimensions + 1) == MPI_ORDER_C;
  OwnedLayout layout = old.layout;
  std::ptrdiff_t stride = old.extent;
  std::ptrdiff_t start = 0;
  for (std::size_t i = 0; i < dimensions; ++i) {
    std::size_t const d = c_order ? dimensions - 1 - i : i;  // innermost first
    layout = repeat(layout, static_cast<std::size_t>(contents.integer(1 + dimensions + d)), stride);
    start += contents.integer(1 + 2 * dimensions + d) * stride;
    stride *= contents.integer(1 + d);
  }
  return shift(layout, start);
}

/// What one process owns of a dimension: `length` indices from each of `starts`, the last ones up to `end`.
struct Owned {
  std::vector<int> starts;
  int length = 0;
  int end = 0;
};

/// By the distributions of MPI: blocks of `argument` indices, dealt to `processes` in turn.
Owned owned_indices(int indices, int distribution, int argument, int processes, int position) {
  int length = argument;
  if (distribution == MPI_DISTRIBUTE_NONE) length = indices;
  if (argument == MPI_DISTRIBUTE_DFLT_DARG && distribution == MPI_DISTRIBUTE_CYCLIC) length = 1;
  if (argument == MPI_DISTRIBUTE_DFLT_DARG && distribution == MPI_DISTRIBUTE_BLOCK)
    length = (indices + processes - 1) / processes;
  Owned owned{{}, length, indices};
  std::int64_t const turn = std::int64_t{length} * processes;
  for (std::int64_t start = std::int64_t{length} * position; start < indices; start += turn)
    owned.starts.push_back(static_cast<int>(start));
  return owned;
}

/// integers: processes, rank, ndims, sizes, distributions, their arguments, process grid, order.
OwnedLayout distributed_array(FlatType const& old, Contents const& contents) {
  auto const dimensions = static_cast<std::size_t>(contents.integer(2));
  auto const field = [&](std::size_t which, std::size_t d) {
    return contents.integer(3 + which * dimensions + d);
  };
  bool const c_order = contents.integer(3 + 4 * dimensions) == MPI_ORDER_C;
  std::vector<int> position(dimensions);
  int rest = contents.integer(1);
  for (std::size_t d = dimensions; d-- != 0; rest /= field(3, d)) position[d] = rest % field(3, d);
  OwnedLayout layout = old.layout;
  std::ptrdiff_t stride = old.extent;
  for (std::size_t i = 0; i < dimensions; ++i) {
    std::size_t const d = c_order ? dimensions - 1 - i : i;  // innermost first
    Owned const owned = owned_indices(field(0, d), field(1, d), field(2, d), field(3, d), position[d]);
    Pieces pieces;
    for (int const start : owned.starts) {
      auto const length = static_cast<std::size_t>(std::min(owned.length, owned.end - start));
      OwnedLayout const piece = shift(repeat(layout, length, stride), start * stride);
      if (owned.starts.size() == 1) {
        layout = piece;
      } else {
        pieces.add(piece, 0);
      }
    }
    if (owned.starts.size() != 1) layout = pieces.layout();
    stride *= field(0, d);
  }
  return layout;
}

OwnedLayout derive(Contents const& contents, FlatType const& old) {
  auto const count = [&] { return static_cast<std::size_t>(contents.integer(0)); };
  auto const in_elements = [&](std::size_t first) {
    return [&contents, &old, first](std::size_t i) { return contents.integer(first + i) * old.extent; };
  };
  auto const in_bytes = [&contents](std::size_t i) { return contents.addresses[i]; };
  auto const lengths = [&contents](std::size_t i) { return contents.integer(1 + i); };
  auto const one_length = [&contents](std::size_t) { return contents.integer(1); };
  switch (contents.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED: return old.layout;
    case MPI_COMBINER_CONTIGUOUS: return repeat(old.layout, count(), old.extent);
    case MPI_COMBINER_VECTOR:
      return repeat(repeat(old.layout, static_cast<std::size_t>(contents.integer(1)), old.extent), count(),
                    contents.integer(2) * old.extent);
    case MPI_COMBINER_HVECTOR:
      return repeat(repeat(old.layout, static_cast<std::size_t>(contents.integer(1)), old.extent), count(),
                    contents.addresses[0]);
    case MPI_COMBINER_INDEXED: return blocks(old, count(), lengths, in_elements(1 + count()));
    case MPI_COMBINER_HINDEXED: return blocks(old, count(), lengths, in_bytes);
    case MPI_COMBINER_INDEXED_BLOCK: return blocks(old, count(), one_length, in_elements(2));
    case MPI_COMBINER_HINDEXED_BLOCK: return blocks(old, count(), one_length, in_bytes);
    case MPI_COMBINER_SUBARRAY: return subarray(old, contents);
    case MPI_COMBINER_DARRAY: return distributed_array(old, contents);
    default: return {};
  }
}

}  // namespace

FlatType flatten(MPI_Datatype type) {
  Contents const contents(type);
  FlatType flat;
  if (contents.combiner == MPI_COMBINER_NAMED || contents.types.empty()) {
    flat = flatten_named(type);  // the F90 parameterised types too
  } else if (contents.combiner == MPI_COMBINER_STRUCT) {
    Pieces pieces;
    for (std::size_t i = 0; i < contents.types.size(); ++i) {
      FlatType const part = flatten(contents.types[i]);
      auto const length = static_cast<std::size_t>(contents.integer(1 + i));
      pieces.add(repeat(part.layout, length, part.extent), contents.addresses[i]);
      if (length != 0) join(flat, part);
    }
    flat.layout = pieces.layout();
    flat.size = flat.layout.view().size();
  } else {
    FlatType const old = flatten(contents.types[0]);
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

}  // namespace mpix
