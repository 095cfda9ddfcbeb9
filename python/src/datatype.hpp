/// MPI datatypes that programs pass, and their elements.
#pragma once

#include <cstddef>

#include "python.hpp"

#include "mpix_rma.h"

namespace mpixrma::python {

/// The datatypes of NumPy's numbers of a size in bytes.
MPI_Datatype signed_of_size(std::size_t size);
MPI_Datatype unsigned_of_size(std::size_t size);
MPI_Datatype floating_of_size(std::size_t size);
MPI_Datatype complex_of_size(std::size_t size);

/// The datatype that elements of NumPy of the same kind and size have, as MPI_INT64_T for MPI_LONG; the
/// datatype itself if it is none of a number, or derived.
MPI_Datatype element_of_datatype(MPI_Datatype datatype);

/// The type of the elements of a datatype, as element_of_datatype() has it: MPI_BYTE if they may have any
/// type, MPI_DATATYPE_NULL for a derived datatype.
MPI_Datatype element_of_given(MPI_Datatype datatype);

struct Elements {
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  MPI_Count count = 0;
};

/// The elements of `count` of a datatype without gaps: of their predefined datatype if they have one and the
/// same, else as bytes. ValueError if there are more than a count holds.
Elements without_gaps(MPI_Datatype datatype, MPI_Count count);

}  // namespace mpixrma::python
