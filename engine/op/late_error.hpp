/// Failures that become known after the call that issued the operation has returned.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "engine/base/status.hpp"
#include "engine/op/operation.hpp"

namespace mpixrma::engine {

/// Names of operations in error texts.
enum class ReportedOperation : std::uint8_t {
  unknown,
  put,
  get,
  accumulate,
  read_modify_write,  ///< an update that returns previous values, or has OpFlags::read_modify_write
  lock,
  unlock,
  count_
};

/// Target memory of an operation.
struct TargetMemory {
  RemoteAddress address = 0;  ///< with an exposure: offset in it
  std::uint64_t bytes = 0;    ///< data of the whole operation
  bool contiguous = true;
  ExposureId exposure = ExposureId::none;
};

/// A point in the issue order of the operations to a peer: the newest operations before it.
struct IssueMark {
  std::uint64_t message = 0;   ///< position in the stream of messages
  std::uint64_t transfer = 0;  ///< number of the unordered transfer

  bool includes(IssueMark const& other) const noexcept {
    return other.message <= message && other.transfer <= transfer;
  }
};
/// Includes every operation.
inline constexpr IssueMark newest_mark{UINT64_MAX, UINT64_MAX};

struct LateError {
  static constexpr int of_peer = -2;  ///< `rank`: that of the peer for which the failure was stored
  static constexpr int unknown = -1;  ///< `rank`: the target is unknown

  Status status = Status::ok;
  ReportedOperation kind = ReportedOperation::unknown;  ///< unknown: `memory` is not set
  TargetMemory memory;
  /// Rank of the target in the issuer's numbering; `memory` is in the issuer's terms too, unless `rank` is
  /// of_peer.
  int rank = of_peer;
  IssueMark issued{};  ///< of the operation; zeros: unknown
};

/// Failures that have not been reported, by the context (RmaOp::context) of the operation's issuer, and by
/// target process where several processes share one object. Not thread-safe.
class LateErrors {
 public:
  static constexpr std::uint64_t unspecified_process = UINT64_MAX;

  struct Failures {
    LateError first;
    std::uint64_t count = 0;

    void add(Failures const& later) noexcept {
      if (count == 0) first = later.first;
      count += later.count;
    }
  };

  LateErrors() { kept_.reserve(1); }

  /// Only the count of a failure is kept if there are many of the same issuer already, or if there is no
  /// memory; in that case a failure of another issuer may be counted in its place.
  void keep(std::uint32_t context, LateError const& error,
            std::uint64_t process = unspecified_process) noexcept {
    auto const is_alike = [=](Kept const& kept) { return kept.context == context && kept.process == process; };
    if (std::ranges::count_if(kept_, is_alike) < most_of_context && append({context, process, {error, 1}}))
      return;
    auto const alike = std::ranges::find_if(kept_, is_alike);
    ++(alike != kept_.end() ? *alike : kept_.front()).failures.count;
  }

  /// Removes and returns the failures stored for `context` with `process`, or with unspecified_process, of
  /// operations up to `last`.
  Failures take(std::uint32_t context, std::uint64_t process = unspecified_process,
                IssueMark const& last = newest_mark) {
    Failures taken;
    std::erase_if(kept_, [&](Kept const& kept) {
      bool const matches = kept.context == context && last.includes(kept.failures.first.issued) &&
                           (kept.process == process || kept.process == unspecified_process);
      if (matches) taken.add(kept.failures);
      return matches;
    });
    return taken;
  }

  /// Removes and returns the failures of all contexts.
  Failures take_all() {
    Failures all;
    for (Kept const& kept : kept_) all.add(kept.failures);
    kept_.clear();
    return all;
  }

 private:
  static constexpr std::ptrdiff_t most_of_context = 32;

  struct Kept {
    std::uint32_t context;
    std::uint64_t process;
    Failures failures;
  };

  /// Returns false if there is no memory. The first failure needs none.
  bool append(Kept const& failure) noexcept try {
    kept_.push_back(failure);
    return true;
  } catch (std::bad_alloc const&) {
    return false;
  }

  std::vector<Kept> kept_;  ///< has room for at least one
};

/// Failures of operations to several processes that no call has reported.
struct UnreportedFailures {
  LateErrors::Failures all;
  std::uint64_t process = 0;  ///< target of the first failure, if all.first.rank is LateError::of_peer

  void add(LateErrors::Failures const& more, std::uint64_t target) noexcept {
    if (all.count == 0) process = target;
    all.add(more);
  }
};

}  // namespace mpixrma::engine
