/// Predefined MPI handles in the engine's terms.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>

#include "engine/op/kernel/types.hpp"

namespace mpixrma {

/// ElementType::none for types that only can be moved (MPI_BYTE, MPI_WCHAR, MPI_PACKED...).
engine::ElementType element_of(MPI_Datatype predefined) noexcept;

/// Of a type of MPI_Type_create_f90_real, _complex or _integer. `precision` is the decimal precision that was
/// asked for, or MPI_UNDEFINED.
engine::ElementType element_of_f90(int combiner, std::size_t bytes, int precision) noexcept;

/// nullopt for MPI_OP_NULL and user-defined operations.
std::optional<engine::Operation> operation_of(MPI_Op predefined) noexcept;

/// As in "MPI_SUM"; "the operation" of one that is not MPI's.
char const* name_of(engine::Operation operation) noexcept;

}  // namespace mpixrma
