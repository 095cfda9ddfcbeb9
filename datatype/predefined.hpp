/// Predefined MPI handles in the engine's terms.
#pragma once

#include <mpi.h>

#include <optional>

#include "engine/kernel/types.hpp"

namespace mpix {

/// ElementType::none for types that only can be moved (MPI_BYTE, MPI_WCHAR, MPI_PACKED...).
engine::ElementType element_of(MPI_Datatype predefined) noexcept;

/// nullopt for MPI_OP_NULL and user-defined operations.
std::optional<engine::Operation> operation_of(MPI_Op predefined) noexcept;

/// As in "MPI_SUM"; "the operation" of one that is not MPI's.
char const* name_of(engine::Operation operation) noexcept;

}  // namespace mpix
