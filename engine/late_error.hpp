/// Failures that become known after the call that issued the operation has returned.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/operation.hpp"
#include "engine/status.hpp"

namespace mpix::engine {

/// What an error text calls an operation.
enum class OperationKind : std::uint8_t {
  unknown,
  put,
  get,
  accumulate,
  read_modify_write,  ///< an update that returns previous values
  lock,
  unlock,
  count_
};

/// Memory of a target that an operation names.
struct TargetMemory {
  RemoteAddress address = 0;  ///< with an exposure: offset in it
  std::uint64_t bytes = 0;    ///< data of the whole operation
  bool contiguous = true;
  ExposureId exposure = ExposureId::none;
};

struct LateError {
  Status status = Status::ok;
  OperationKind kind = OperationKind::unknown;  ///< unknown: `memory` is not set
  TargetMemory memory;
};

/// Failures that nobody was told of yet, by the mark (Transfer::context) of whoever issued the operation.
class LateErrors {
 public:
  /// The first failure of a mark stays until it is taken.
  void keep(std::uint32_t context, LateError const& error) {
    if (find(context) == first_.end()) first_.push_back({context, error});
  }

  /// The failure kept for `context`, told once; ok when there is none.
  LateError take(std::uint32_t context) {
    auto const found = find(context);
    if (found == first_.end()) return {};
    LateError const error = found->error;
    first_.erase(found);
    return error;
  }

 private:
  struct Kept {
    std::uint32_t context;
    LateError error;
  };

  std::vector<Kept>::iterator find(std::uint32_t context) {
    return std::find_if(first_.begin(), first_.end(),
                        [&](Kept const& kept) { return kept.context == context; });
  }

  std::vector<Kept> first_;
};

}  // namespace mpix::engine
