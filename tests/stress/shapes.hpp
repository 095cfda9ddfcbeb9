/// Datatypes over MPI_INT and, beside each, the list of the elements that it touches, made without the
/// library.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace mpix::stress {

/// `elements[i]` is where element i of the data stands, counted in ints from the buffer's address; never
/// negative once `first` is added.
struct Shape {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int count = 1;  ///< how many of `type` a call passes
  std::vector<int> elements;
  int first = 0;  ///< ints that lie below the address
  int span = 0;   ///< ints from the lowest to behind the highest
};

class Shapes {
 public:
  static constexpr std::array<int, 7> sizes = {1, 2, 6, 24, 96, 480, 2400};  ///< data elements

  Shapes() {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      int const n = sizes[i];
      add(i, MPI_INT, n, [](int k) { return k; });
      if (n == 1) continue;
      MPI_Datatype type = MPI_DATATYPE_NULL;
      MPI_Type_vector(n / 2, 2, 3, MPI_INT, &type);
      add(i, type, 1, [](int k) { return k / 2 * 3 + k % 2; });
      MPI_Type_create_hvector(n, 1, -2 * static_cast<MPI_Aint>(sizeof(int)), MPI_INT, &type);
      add(i, type, 1, [](int k) { return -2 * k; });
      if (n % 6 == 0) add_pieces(i, n / 6);
    }
  }
  ~Shapes() {
    for (auto& kind : shapes_) {
      for (Shape& shape : kind)
        if (shape.type != MPI_INT) MPI_Type_free(&shape.type);
    }
  }
  Shapes(Shapes const&) = delete;
  Shapes& operator=(Shapes const&) = delete;

  Shape const& any(std::mt19937_64& random, std::size_t size_index) const {
    auto const& kind = shapes_[size_index];
    return kind[random() % kind.size()];
  }

 private:
  template <typename Place>
  void add(std::size_t index, MPI_Datatype type, int count, Place place) {
    Shape shape;
    shape.type = type;
    shape.count = count;
    if (type != MPI_INT) MPI_Type_commit(&shape.type);
    for (int k = 0; k < sizes[index]; ++k) shape.elements.push_back(place(k));
    auto const [low, high] = std::minmax_element(shape.elements.begin(), shape.elements.end());
    shape.first = -std::min(*low, 0);
    shape.span = *high + 1 + shape.first;
    shapes_[index].push_back(std::move(shape));
  }

  /// Pieces of 1, 3 and 2 elements out of order, repeated by count with a larger extent.
  void add_pieces(std::size_t index, int count) {
    int const lengths[] = {1, 3, 2};
    int const places[] = {7, 0, 4};
    MPI_Datatype pieces = MPI_DATATYPE_NULL;
    MPI_Datatype resized = MPI_DATATYPE_NULL;
    MPI_Type_indexed(3, lengths, places, MPI_INT, &pieces);
    MPI_Type_create_resized(pieces, 0, 9 * static_cast<MPI_Aint>(sizeof(int)), &resized);
    MPI_Type_free(&pieces);
    add(index, resized, count, [](int k) {
      constexpr int inside[] = {7, 0, 1, 2, 4, 5};
      return k / 6 * 9 + inside[k % 6];
    });
  }

  std::array<std::vector<Shape>, sizes.size()> shapes_;
};

}  // namespace mpix::stress
