/// A compact description of the most frequent operations in streams.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/op/operation.hpp"

namespace mpixrma::engine {

/// A put, or an update that fetches nothing and has one operand and no scale, on contiguous memory, without
/// counter or completion object.
struct RunOperation {
  OpKind kind = OpKind::put;
  ReduceOp reduce_op = ReduceOp::sum;  ///< of an update
  ElementType type = ElementType::none;
  std::uint32_t context = 0;
  OpFlags flags = OpFlags::none;
  ExposureId exposure = ExposureId::none;
  std::byte const* origin = nullptr;
  RemoteAddress target = 0;
  std::size_t bytes = 0;
};

/// Whether the operation can be described by a RunOperation.
inline bool is_run_operation(RmaOp const& operation) noexcept {
  bool const one_way = !operation.fetches() && operation.operands() == 1 && operation.scale == nullptr;
  bool const alone = operation.completion == nullptr && !notifies(operation) && !operation.is_internal;
  bool const contiguous = operation.origin_layout.is_contiguous() && operation.target_layout.is_contiguous();
  return one_way && alone && contiguous && operation.origin_layout.block == operation.target_layout.block;
}

inline RunOperation run_operation_of(RmaOp const& operation) noexcept {
  return {operation.kind,    operation.reduce_op, operation.type,
          operation.context, operation.flags,     operation.exposed.target,
          operation.origin,  operation.target,    operation.target_layout.block};
}

}  // namespace mpixrma::engine
