/// Conversion of predefined MPI handles to the engine's types.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/op/kernel/types.hpp"

namespace mpixrma {

/// Returns ElementType::none for single bytes (MPI_BYTE, MPI_PACKED, MPI_CHARACTER), and for types that the
/// engine can only move.
engine::ElementType element_of(MPI_Datatype predefined) noexcept;

/// Returns one bit for each operation that MPI permits on the predefined datatype, whose element type is
/// `element`. The element type alone may permit more: Fortran's logicals and MPI_WCHAR, for example, have
/// that of an integer. The mask may contain operations that are not defined on the element type.
std::uint32_t permitted_operations(MPI_Datatype predefined, engine::ElementType element) noexcept;

/// Returns the element type of a datatype of `bytes` bytes made by MPI_Type_create_f90_real, _complex or
/// _integer. `precision` is the requested decimal precision, or MPI_UNDEFINED.
engine::ElementType element_of_f90(int combiner, std::size_t bytes, int precision) noexcept;

/// Returns nullopt for MPI_OP_NULL and user-defined operations.
std::optional<engine::ReduceOp> operation_of(MPI_Op predefined) noexcept;

/// Returns the MPI name, such as "MPI_SUM", or "the operation" if MPI has none.
char const* name_of(engine::ReduceOp operation) noexcept;

}  // namespace mpixrma
