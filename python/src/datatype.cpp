#include "datatype.hpp"

#include <algorithm>
#include <vector>

#include "handles.hpp"

namespace mpixrma::python {

namespace {

MPI_Datatype bool_of_size(std::size_t) { return MPI_C_BOOL; }

struct Envelope {
  int integers = 0, addresses = 0, datatypes = 0, combiner = 0;
};

Envelope envelope_of(MPI_Datatype datatype) {
  require_mpi();
  Envelope found;
  check(
      MPI_Type_get_envelope(datatype, &found.integers, &found.addresses, &found.datatypes, &found.combiner));
  return found;
}

MPI_Count bytes_of(MPI_Datatype datatype) {
  MPI_Count size = 0;
  check(MPI_Type_size_x(datatype, &size));
  return size;
}

/// The predefined datatype of all elements, by the name of the first one; MPI_BYTE if they differ,
/// MPI_DATATYPE_NULL if there are none.
MPI_Datatype common_element(MPI_Datatype datatype) {
  Envelope const envelope = envelope_of(datatype);
  if (envelope.datatypes == 0) return datatype;  // of Fortran's parametrised types, too
  std::vector<int> integers(static_cast<std::size_t>(envelope.integers));
  std::vector<MPI_Aint> addresses(static_cast<std::size_t>(envelope.addresses));
  std::vector<MPI_Datatype> parts(static_cast<std::size_t>(envelope.datatypes));
  check(MPI_Type_get_contents(datatype, envelope.integers, envelope.addresses, envelope.datatypes,
                              integers.data(), addresses.data(), parts.data()));
  MPI_Datatype common = MPI_DATATYPE_NULL;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    MPI_Datatype& part = parts[i];
    bool const empty =
        bytes_of(part) == 0 || (envelope.combiner == MPI_COMBINER_STRUCT && integers[1 + i] == 0);
    MPI_Datatype const found = empty ? MPI_DATATYPE_NULL : common_element(part);
    if (common == MPI_DATATYPE_NULL)
      common = found;
    else if (found != MPI_DATATYPE_NULL && element_of_datatype(found) != element_of_datatype(common))
      common = MPI_BYTE;
    if (envelope_of(part).datatypes != 0) MPI_Type_free(&part);
  }
  return common;
}

}  // namespace

MPI_Datatype signed_of_size(std::size_t size) {
  return size == 8 ? MPI_INT64_T : size == 4 ? MPI_INT32_T : size == 2 ? MPI_INT16_T : MPI_INT8_T;
}

MPI_Datatype unsigned_of_size(std::size_t size) {
  return size == 8 ? MPI_UINT64_T : size == 4 ? MPI_UINT32_T : size == 2 ? MPI_UINT16_T : MPI_UINT8_T;
}

MPI_Datatype floating_of_size(std::size_t size) {
  return size == 4 ? MPI_FLOAT : size == 8 ? MPI_DOUBLE : MPI_LONG_DOUBLE;
}

MPI_Datatype complex_of_size(std::size_t size) {
  return size == 8 ? MPI_C_FLOAT_COMPLEX : size == 16 ? MPI_C_DOUBLE_COMPLEX : MPI_C_LONG_DOUBLE_COMPLEX;
}

MPI_Datatype element_of_datatype(MPI_Datatype datatype) {
  struct Kind {
    MPI_Datatype (*of_size)(std::size_t);
    std::vector<MPI_Datatype> datatypes;
  };
  // Without the quadruple precision of Fortran, which differs from a long double of the same size.
  static Kind const kinds[] = {
      {&signed_of_size,
       {MPI_SIGNED_CHAR, MPI_CHAR, MPI_SHORT, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_AINT, MPI_OFFSET,
        MPI_COUNT, MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8}},
      {&unsigned_of_size,
       {MPI_UNSIGNED_CHAR, MPI_UNSIGNED_SHORT, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG}},
      {&floating_of_size, {MPI_REAL, MPI_REAL4, MPI_REAL8, MPI_DOUBLE_PRECISION}},
      {&complex_of_size,
       {MPI_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16, MPI_DOUBLE_COMPLEX, MPI_CXX_FLOAT_COMPLEX,
        MPI_CXX_DOUBLE_COMPLEX, MPI_CXX_LONG_DOUBLE_COMPLEX}},
      {&bool_of_size, {MPI_CXX_BOOL}},
  };
  for (Kind const& kind : kinds) {
    if (std::ranges::find(kind.datatypes, datatype) == kind.datatypes.end()) continue;
    int size = 0;
    check(MPI_Type_size(datatype, &size));
    return kind.of_size(static_cast<std::size_t>(size));
  }
  return datatype;
}

MPI_Datatype element_of_given(MPI_Datatype datatype) {
  if (envelope_of(datatype).combiner != MPI_COMBINER_NAMED) return MPI_DATATYPE_NULL;
  return datatype == MPI_PACKED ? MPI_BYTE : element_of_datatype(datatype);
}

Elements without_gaps(MPI_Datatype datatype, MPI_Count count) {
  MPI_Count bytes = 0;
  if (__builtin_mul_overflow(count, bytes_of(datatype), &bytes))
    throw py::value_error("the count is too large");
  if (bytes == 0) return {MPI_BYTE, 0};
  MPI_Datatype const element = common_element(datatype);
  return {element, bytes / bytes_of(element)};
}

}  // namespace mpixrma::python
