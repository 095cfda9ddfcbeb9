#include "tests/stress/shapes.hpp"

#include <algorithm>
#include <cstdlib>

#include "tests/stress/constructors.hpp"

namespace mpixrma::stress {

namespace {

constexpr int shapes_per_base = 8;
constexpr int mixed_shapes = 100;
constexpr int long_rows = 10;  // of mixed_shapes
constexpr int max_nesting = 3;
constexpr std::ptrdiff_t widest = 4096;  // bytes from the lowest to the highest of one element
constexpr int longest_repetition = 64;   // elements of a derived type in one call
constexpr int plain_repetition = 49152;

/// Returns the number of consecutive elements of the shape before two of them overlap.
int count_disjoint(Shape const& shape) {
  Use const many{&shape, std::abs(shape.extent) > widest ? 1 : longest_repetition};
  std::vector<bool> taken(many.span());
  std::ptrdiff_t const low = many.low();
  for (int i = 0; i < many.count; ++i) {
    for (Piece const& piece : shape.pieces) {
      for (std::size_t k = 0; k < piece.bytes; ++k) {
        auto const at = static_cast<std::size_t>(piece.offset + i * shape.extent - low) + k;
        if (taken[at]) return i;
        taken[at] = true;
      }
    }
  }
  return many.count;
}

/// Computes the members that follow from the pieces and the extent that MPI reports.
void measure(Shape& shape) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Type_get_extent(shape.type, &lower, &extent);
  shape.extent = extent;
  std::erase_if(shape.pieces, [](Piece const& piece) { return piece.bytes == 0; });
  shape.bytes = 0;
  for (Piece const& piece : shape.pieces) {
    bool const first = shape.bytes == 0;  // no element is padding alone
    std::ptrdiff_t const end = piece.offset + static_cast<std::ptrdiff_t>(piece.bytes);
    shape.low = first ? piece.offset : std::min(shape.low, piece.offset);
    shape.high = first ? end : std::max(shape.high, end);
    shape.bytes += piece.base->data_bytes();
  }
  shape.most = count_disjoint(shape);
}

Shape make_plain(Base const& base) {
  Shape shape;
  shape.type = base.type;
  shape.base = &base;
  shape.pieces = {{0, base.size, &base}};
  measure(shape);
  shape.most = plain_repetition / static_cast<int>(base.size);
  return shape;
}

void free_derived(Shape const& shape) {
  MPI_Datatype type = shape.type;
  if (shape.nesting != 0) MPI_Type_free(&type);
}

/// Nests `innermost` in a random number of constructors; `others` are further members of structs.
Shape nest(Random& random, Shape const& innermost, std::vector<Shape const*> const& others) {
  Shape shape = innermost;
  int const depth = 1 + static_cast<int>(random() % max_nesting);
  for (int i = 0; i < depth; ++i) {
    Shape outer = construct(random, shape, others);
    if (outer.type == MPI_DATATYPE_NULL) break;  // this MPI has refused it
    outer.nesting = shape.nesting + 1;
    measure(outer);
    bool const usable = outer.high - outer.low <= widest && (outer.most != 0 || outer.bytes == 0);
    if (!usable) {
      free_derived(outer);
      break;
    }
    free_derived(shape);
    shape = std::move(outer);
  }
  if (shape.nesting != 0) MPI_Type_commit(&shape.type);
  return shape;
}

/// Makes a type of long rows with gaps between them.
Shape make_rows(Random& random, Base const& bytes) {
  Shape shape;
  shape.base = &bytes;
  shape.nesting = 1;
  int const rows = 2 + static_cast<int>(random() % 3);
  int const length = 2048 + static_cast<int>(random() % 2048);
  int const stride = length + static_cast<int>(random() % 1000);
  MPI_Type_vector(rows, length, stride, bytes.type, &shape.type);
  MPI_Type_commit(&shape.type);
  for (int i = 0; i < rows * length; ++i) shape.pieces.push_back({i / length * stride + i % length, 1, &bytes});
  measure(shape);
  return shape;
}

}  // namespace

std::ptrdiff_t Use::low() const {
  return count == 0 ? 0 : shape->low + std::min<std::ptrdiff_t>(0, (count - 1) * shape->extent);
}
std::ptrdiff_t Use::high() const {
  return count == 0 ? 0 : shape->high + std::max<std::ptrdiff_t>(0, (count - 1) * shape->extent);
}

Shapes::Shapes(Random& random) : bases_(make_bases()) {
  for (Base const& base : bases_) by_zone_[base.zone].push_back(&base);
  of_base_.resize(bases_.size());
  std::vector<Shape const*> movable;
  for (Base const& base : bases_) {
    auto& shapes = of_base_[index_of(base)];
    shapes.reserve(shapes_per_base);
    shapes.push_back(make_plain(base));
    std::vector<Shape const*> const alone = {&shapes.front()};
    while (shapes.size() < shapes_per_base) shapes.push_back(nest(random, shapes.front(), alone));
    // In the first zone any bytes of all types are valid; in the others all elements are of one type.
    movable.push_back(&shapes.front());
    if (base.type == MPI_BYTE) {
      for (int i = 0; i < long_rows; ++i) mixed_.push_back(make_rows(random, base));
    }
  }
  while (mixed_.size() < mixed_shapes)
    mixed_.push_back(nest(random, *movable[random() % movable.size()], movable));
}

Shapes::~Shapes() {
  for (Shape const& shape : mixed_) free_derived(shape);
  for (auto const& shapes : of_base_) {
    for (Shape const& shape : shapes) free_derived(shape);
  }
}

Shape const& Shapes::any(Random& random, Base const& base) const {
  auto const& shapes = of_base_[index_of(base)];
  return random() % 3 == 0 ? shapes.front() : shapes[random() % shapes.size()];
}

Shape const& Shapes::any(Random& random, int zone) const {
  if (zone == 0 && random() % 2 == 0) return mixed_[random() % mixed_.size()];
  auto const& bases = by_zone_[zone];
  return any(random, *bases[random() % bases.size()]);
}

}  // namespace mpixrma::stress
