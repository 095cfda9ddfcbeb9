#include "tests/stress/constructors.hpp"

#include <algorithm>

namespace mpixrma::stress {

namespace {

/// Draws the arguments of a constructor and collects the pieces.
class Construction {
 public:
  Construction(Random& random, Shape const& old, std::vector<Shape const*> const& others)
      : random_(random), old_(old), others_(others) {
    made_.base = old.base;
  }

  Shape run();

 private:
  int between(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<std::uint64_t>(high - low + 1));
  }
  /// Draws a displacement in bytes, a multiple of the type's size if the type has a zone of its own.
  std::ptrdiff_t displacement() {
    bool const free = old_.base == nullptr || old_.base->zone == 0;
    auto const grain = static_cast<std::ptrdiff_t>(free ? 1 : old_.base->size);
    return free ? between(-80, 200) : between(-5, 12) * grain;
  }
  void put(std::ptrdiff_t at, Shape const& shape) {
    for (Piece const& piece : shape.pieces) made_.pieces.push_back({piece.offset + at, piece.bytes, piece.base});
  }
  void block(std::ptrdiff_t at, int length) {
    for (int i = 0; i < length; ++i) put(at + i * old_.extent, old_);
  }

  void contiguous();
  void vector(bool in_bytes);
  void indexed(bool in_bytes);
  void indexed_block(bool in_bytes);
  void structure();
  void subarray();
  void distributed_array();
  void resized();

  /// Adds all combinations of `indices` in each dimension of an array of `sizes`, as displacements.
  void array(std::vector<int> const& sizes, std::vector<std::vector<int>> const& indices, int order);

  Random& random_;
  Shape const& old_;
  std::vector<Shape const*> const& others_;
  Shape made_;
};

void Construction::contiguous() {
  int const count = between(0, 6);
  MPI_Type_contiguous(count, old_.type, &made_.type);
  block(0, count);
}

void Construction::vector(bool in_bytes) {
  int const count = between(0, 6);
  int const length = between(0, 4);
  int const stride = between(-7, 7);
  std::ptrdiff_t const step = in_bytes ? displacement() : stride * old_.extent;
  if (in_bytes) {
    MPI_Type_create_hvector(count, length, step, old_.type, &made_.type);
  } else {
    MPI_Type_vector(count, length, stride, old_.type, &made_.type);
  }
  for (int i = 0; i < count; ++i) block(i * step, length);
}

void Construction::indexed(bool in_bytes) {
  auto const count = static_cast<std::size_t>(between(0, 5));
  std::vector<int> lengths(count);
  std::vector<int> places(count);
  std::vector<MPI_Aint> bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    lengths[i] = between(0, 4);
    places[i] = between(-10, 20);
    bytes[i] = in_bytes ? displacement() : places[i] * old_.extent;
    block(bytes[i], lengths[i]);
  }
  int const n = static_cast<int>(count);
  if (in_bytes) {
    MPI_Type_create_hindexed(n, lengths.data(), bytes.data(), old_.type, &made_.type);
  } else {
    MPI_Type_indexed(n, lengths.data(), places.data(), old_.type, &made_.type);
  }
}

void Construction::indexed_block(bool in_bytes) {
  auto const count = static_cast<std::size_t>(between(0, 5));
  int const length = between(0, 4);
  std::vector<int> places(count);
  std::vector<MPI_Aint> bytes(count);
  for (std::size_t i = 0; i < count; ++i) {
    places[i] = between(-10, 20);
    bytes[i] = in_bytes ? displacement() : places[i] * old_.extent;
    block(bytes[i], length);
  }
  int const n = static_cast<int>(count);
  if (in_bytes) {
    MPI_Type_create_hindexed_block(n, length, bytes.data(), old_.type, &made_.type);
  } else {
    MPI_Type_create_indexed_block(n, length, places.data(), old_.type, &made_.type);
  }
}

void Construction::structure() {
  auto const count = static_cast<std::size_t>(between(1, 4));
  std::vector<int> lengths(count);
  std::vector<MPI_Aint> places(count);
  std::vector<MPI_Datatype> types(count);
  for (std::size_t i = 0; i < count; ++i) {
    Shape const& member = i == 0 ? old_ : *others_[random_() % others_.size()];
    if (member.base != old_.base) made_.base = nullptr;
    lengths[i] = between(0, 3);
    places[i] = displacement();
    types[i] = member.type;
    for (int k = 0; k < lengths[i]; ++k) put(places[i] + k * member.extent, member);
  }
  MPI_Type_create_struct(static_cast<int>(count), lengths.data(), places.data(), types.data(), &made_.type);
}

void Construction::array(std::vector<int> const& sizes, std::vector<std::vector<int>> const& indices,
                         int order) {
  std::size_t const dimensions = sizes.size();
  std::vector<std::ptrdiff_t> strides(dimensions, 1);
  std::vector<std::size_t> outermost_first(dimensions);
  for (std::size_t i = 0; i < dimensions; ++i) {
    // The innermost dimension is the last in C, the first in Fortran.
    std::size_t const d = order == MPI_ORDER_C ? dimensions - 1 - i : i;
    outermost_first[dimensions - 1 - i] = d;
    std::size_t const inner = order == MPI_ORDER_C ? d + 1 : d - 1;
    if (i != 0) strides[d] = strides[inner] * sizes[inner];
  }
  std::vector<std::ptrdiff_t> places = {0};
  for (std::size_t const d : outermost_first) {
    std::vector<std::ptrdiff_t> next;
    for (std::ptrdiff_t const place : places) {
      for (int const index : indices[d]) next.push_back(place + index * strides[d]);
    }
    places = std::move(next);
  }
  for (std::ptrdiff_t const place : places) put(place * old_.extent, old_);
}

void Construction::subarray() {
  auto const dimensions = static_cast<std::size_t>(between(1, 3));
  int const order = between(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  std::vector<int> sizes(dimensions);
  std::vector<int> subsizes(dimensions);
  std::vector<int> starts(dimensions);
  std::vector<std::vector<int>> indices(dimensions);
  for (std::size_t d = 0; d < dimensions; ++d) {
    sizes[d] = between(1, 5);
    subsizes[d] = between(1, sizes[d]);
    starts[d] = between(0, sizes[d] - subsizes[d]);
    for (int i = 0; i < subsizes[d]; ++i) indices[d].push_back(starts[d] + i);
  }
  MPI_Type_create_subarray(static_cast<int>(dimensions), sizes.data(), subsizes.data(), starts.data(), order,
                           old_.type, &made_.type);
  array(sizes, indices, order);
}

/// Returns the indices of `size` that process `position` of `processes` owns in a block-cyclic distribution
/// with blocks of `length`.
std::vector<int> dealt(int size, int processes, int position, int length) {
  std::vector<int> mine;
  for (int first = position * length; first < size; first += processes * length) {
    for (int i = first; i < std::min(first + length, size); ++i) mine.push_back(i);
  }
  return mine;
}

void Construction::distributed_array() {
  auto const dimensions = static_cast<std::size_t>(between(1, 2));
  int const order = between(0, 1) == 0 ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
  std::vector<int> sizes(dimensions);
  std::vector<int> ways(dimensions);
  std::vector<int> arguments(dimensions);
  std::vector<int> grid(dimensions);
  std::vector<std::vector<int>> indices(dimensions);
  int processes = 1;
  for (std::size_t d = 0; d < dimensions; ++d) {
    sizes[d] = between(1, 7);
    grid[d] = between(1, 3);
    processes *= grid[d];
  }
  int const rank = between(0, processes - 1);
  int rest = rank;
  for (std::size_t i = 0; i < dimensions; ++i) {
    std::size_t const d = dimensions - 1 - i;  // ranks of the grid are in C order always
    int const position = rest % grid[d];
    rest /= grid[d];
    bool const blocks = between(0, 1) == 0;
    ways[d] = blocks ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC;
    int const length = blocks ? (sizes[d] + grid[d] - 1) / grid[d] : between(1, 2);
    arguments[d] = blocks ? MPI_DISTRIBUTE_DFLT_DARG : length;
    indices[d] = dealt(sizes[d], grid[d], position, length);
  }
  MPI_Type_create_darray(processes, rank, static_cast<int>(dimensions), sizes.data(), ways.data(),
                         arguments.data(), grid.data(), order, old_.type, &made_.type);
  array(sizes, indices, order);
}

void Construction::resized() {
  std::ptrdiff_t const extent = displacement();
  MPI_Type_create_resized(old_.type, displacement(), extent, &made_.type);
  put(0, old_);
}

Shape Construction::run() {
  switch (between(0, 11)) {
    case 0: contiguous(); break;
    case 1: vector(false); break;
    case 2: vector(true); break;
    case 3: indexed(false); break;
    case 4: indexed(true); break;
    case 5: indexed_block(false); break;
    case 6: indexed_block(true); break;
    case 7: structure(); break;
    case 8: subarray(); break;
    case 9: distributed_array(); break;
    case 10: resized(); break;
    default:
      MPI_Type_dup(old_.type, &made_.type);
      put(0, old_);
      break;
  }
  return std::move(made_);
}

}  // namespace

Shape construct(Random& random, Shape const& old, std::vector<Shape const*> const& others) {
  return Construction(random, old, others).run();
}

}  // namespace mpixrma::stress
