/// Random derived datatypes, each with an independent list of its bytes, made without the library.
#pragma once

#include <cstddef>
#include <vector>

#include "tests/stress/base_types.hpp"

namespace mpixrma::stress {

/// One predefined element.
struct Piece {
  std::ptrdiff_t offset;
  std::size_t bytes;  ///< padding included
  Base const* base;
};

struct Shape {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  Base const* base = nullptr;  ///< nullptr: built of several
  std::vector<Piece> pieces;   ///< of one element of `type`, in the order of the data
  std::ptrdiff_t extent = 0;
  std::ptrdiff_t low = 0;   ///< lowest byte of one element
  std::ptrdiff_t high = 0;  ///< behind the highest byte of one element
  std::size_t bytes = 0;    ///< data of one element, without padding
  int most = 0;             ///< elements in a row that do not overlap
  int nesting = 0;          ///< constructors inside of each other
};

/// `count` elements of a shape.
struct Use {
  Shape const* shape = nullptr;
  int count = 0;

  std::size_t bytes() const { return shape->bytes * static_cast<std::size_t>(count); }
  std::ptrdiff_t low() const;
  std::ptrdiff_t high() const;
  std::size_t span() const { return static_cast<std::size_t>(high() - low()); }

  /// Calls visit(offset, bytes) for every predefined element, in the order of the data.
  template <typename Visit>
  void for_each(Visit visit) const {
    for (int i = 0; i < count; ++i) {
      for (Piece const& piece : shape->pieces) visit(piece.offset + i * shape->extent, piece.bytes);
    }
  }
  /// Calls visit(offset, bytes) for the parts of elements that are data.
  template <typename Visit>
  void for_each_part(Visit visit) const {
    for (int i = 0; i < count; ++i) {
      for (Piece const& piece : shape->pieces) {
        piece.base->for_each_part([&](std::size_t at, std::size_t bytes) {
          visit(piece.offset + i * shape->extent + static_cast<std::ptrdiff_t>(at), bytes);
        });
      }
    }
  }
};

/// A pool of datatypes; the same seed gives the same types.
class Shapes {
 public:
  explicit Shapes(Random& random);
  ~Shapes();
  Shapes(Shapes const&) = delete;
  Shapes& operator=(Shapes const&) = delete;

  std::vector<Base> const& bases() const { return bases_; }
  std::vector<Base const*> const& bases_of(int zone) const {
    return by_zone_[static_cast<std::size_t>(zone)];
  }

  /// The predefined type itself.
  Shape const& plain(Base const& base) const { return of_base_[index_of(base)].front(); }
  /// Returns a type that consists only of `base`.
  Shape const& any(Random& random, Base const& base) const;
  /// Returns a type that is valid in the zone.
  Shape const& any(Random& random, int zone) const;

 private:
  std::size_t index_of(Base const& base) const { return static_cast<std::size_t>(&base - bases_.data()); }

  std::vector<Base> bases_;
  std::vector<Base const*> by_zone_[zones];
  std::vector<std::vector<Shape>> of_base_;  ///< the first one is the predefined type
  std::vector<Shape> mixed_;
};

}  // namespace mpixrma::stress
