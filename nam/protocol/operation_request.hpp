/// An operation on one region of a window, sent as a request of a session, for clients that neither map the
/// memory nor are peers of the data process. The data process executes it and checks the access rights of
/// each request.
///
/// The data of the message are the runs of the target, each as an engine::LayoutRun, then the operand and the
/// second operand, if the operation has them. The answer contains the fetched data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/op/kernel/types.hpp"
#include "engine/op/layout/layout.hpp"
#include "nam/protocol/channel.hpp"

namespace mpixrma::nam {

/// Limits of one request, which fits into one message of a session.
inline constexpr std::size_t max_operation_bytes = 256u << 10;  ///< bytes of the target
inline constexpr std::size_t max_operation_runs = 16384;

struct OperationRequest {
  enum class Kind : std::uint8_t { put, get, update };

  Kind kind = Kind::get;
  engine::ReduceOp operation =
      engine::ReduceOp::no_op;  ///< operation of an update; each element is updated atomically
  engine::ElementType type = engine::ElementType::none;
  bool fetches_previous = false;            ///< the answer to an update has the previous values
  std::span<engine::LayoutRun const> runs;  ///< runs of the region, in the order of the data
  std::span<std::byte const> operand{};     ///< the data of a put, or the first operand of an update
  std::span<std::byte const> operand2{};

  bool reads() const noexcept { return kind == Kind::get || (kind == Kind::update && fetches_previous); }
  bool writes() const noexcept {
    return kind == Kind::put || (kind == Kind::update && operation != engine::ReduceOp::no_op);
  }
  unsigned operands() const noexcept {
    if (kind == Kind::update) return engine::operand_count(operation);
    return kind == Kind::put ? 1 : 0;
  }
  /// Total bytes of all runs.
  std::size_t bytes() const noexcept;
};

/// Adds the fields of the request to `head` and returns the data of its message.
std::vector<std::byte> pack(OperationRequest const& request, Json* head);
/// Returns the request of a message; it refers to the message's data. Every run lies within a region of
/// `region_bytes` bytes. Throws Error(malformed) and Error(bad_request).
OperationRequest unpack_operation(Json const& head, std::span<std::byte const> data,
                                  std::uint64_t region_bytes);

}  // namespace mpixrma::nam
