/// The local sides of an update, packed piece by piece, for protocols by which the target's data comes in
/// pieces.
#pragma once

#include <cstddef>
#include <memory>

#include "engine/op/kernel/kernels.hpp"
#include "engine/op/operation.hpp"

namespace mpixrma::engine {

class PackedUpdate {
 public:
  /// For pieces of at most `capacity` bytes.
  PackedUpdate(RmaOp const& update, std::size_t capacity)
      : update_(update),
        operands_(operand_count(update.reduce_op)),
        capacity_(capacity),
        memory_(std::make_unique_for_overwrite<std::byte[]>(3 * capacity)) {}

  /// Packs the operands of bytes [position, position + bytes) of the data.
  void take(std::size_t position, std::size_t bytes) noexcept {
    position_ = position;
    bytes_ = bytes;
    if (operands_ > 0) pack(memory_.get(), update_.origin, update_.origin_layout, position, bytes);
    if (operands_ > 1) pack(operand2(), update_.operand2, update_.origin_layout, position, bytes);
  }

  PackedSides sides() const noexcept {
    return {memory_.get(), operand2(), update_.result != nullptr ? fetched() : nullptr, bytes_};
  }

  /// Scatters the values fetched for the piece.
  void give_result() const noexcept {
    if (update_.result != nullptr)
      unpack(update_.result, update_.result_layout, position_, fetched(), bytes_);
  }

 private:
  std::byte* operand2() const noexcept { return memory_.get() + capacity_; }
  std::byte* fetched() const noexcept { return memory_.get() + 2 * capacity_; }

  RmaOp const& update_;
  unsigned operands_;
  std::size_t capacity_;
  std::unique_ptr<std::byte[]> memory_;
  std::size_t position_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace mpixrma::engine
