/// How a datatype was constructed. MPI 4 reads datatypes with large counts by calls of their own only.
#pragma once

#include <mpi.h>

#include <vector>

namespace mpixrma {

/// The numbers of the arguments of a datatype's constructor.
struct Envelope {
  MPI_Count integers = 0;
  MPI_Count addresses = 0;
  MPI_Count large_counts = 0;
  MPI_Count types = 0;
  int combiner = MPI_COMBINER_NAMED;
};

/// Throws UnknownDatatype.
Envelope envelope_of(MPI_Datatype type);

/// Whether the datatype was created by MPI_Type_create_f90_real, _complex or _integer: predefined, but with
/// arguments.
constexpr bool is_f90(int combiner) noexcept {
  return combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX ||
         combiner == MPI_COMBINER_F90_INTEGER;
}

/// The arguments that a datatype was constructed with, in the order of MPI_Type_get_contents for constructors
/// with counts of type int.
class DatatypeContents {
 public:
  explicit DatatypeContents(MPI_Datatype type);
  ~DatatypeContents();
  DatatypeContents(DatatypeContents const&) = delete;
  DatatypeContents& operator=(DatatypeContents const&) = delete;

  int combiner() const noexcept { return combiner_; }
  MPI_Count integer(std::size_t i) const { return integers_[i]; }
  MPI_Aint address(std::size_t i) const { return addresses_[i]; }
  std::vector<MPI_Count> const& integers() const noexcept { return integers_; }
  std::vector<MPI_Datatype> const& types() const noexcept { return types_; }

 private:
  void read(MPI_Datatype type, Envelope const& envelope);

  int combiner_ = MPI_COMBINER_NAMED;
  std::vector<MPI_Count> integers_;
  std::vector<MPI_Aint> addresses_;
  std::vector<MPI_Datatype> types_;
};

}  // namespace mpixrma
