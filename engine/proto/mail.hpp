/// Operations on memory of a process of this host that is not mapped here, by the process's mailbox.
/// Complete when the call returns.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "engine/op/operation.hpp"
#include "engine/origin/peer.hpp"
#include "engine/proto/remainder.hpp"

namespace mpixrma::engine {

/// Who asks whom, and how.
struct MailRoute {
  std::uint64_t origin;  ///< process
  Peer& peer;
  bool held;                          ///< the caller holds the stripes that the guarantees ask for
  bool across;                        ///< the kernel would move the data
  std::chrono::nanoseconds patience;  ///< with a process that does not look
  /// Called while this process waits: others may wait for it in the same way.
  std::function<void()> const& serve;
};

/// nullopt: the operation does not suit, or the target has not looked for `patience`; if it stopped looking
/// in the middle, `left` tells what is left of the operation. bad_origin: the memory of a put or get is not
/// there; else what the target says.
std::optional<Status> deliver(Transfer const& transfer, MailRoute const& route, std::vector<DataRange>* left);
std::optional<Status> deliver(Update const& update, MailRoute const& route, std::vector<DataRange>* left);

}  // namespace mpixrma::engine
