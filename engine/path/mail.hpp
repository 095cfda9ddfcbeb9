/// Small operations on memory of a process of this host that is not mapped here, by the process's mailbox.
/// Complete when the call returns.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "engine/operation.hpp"
#include "engine/peer/peer.hpp"

namespace mpix::engine {

/// nullopt: the operation does not suit, or nobody has looked into the mailbox for `patience`. bad_origin:
/// the memory of a put or get is not there; else what the target's agent says. `held`: the caller holds the
/// stripes that the guarantees ask for. `origin`: who asks. `serve` is called while this process waits:
/// others may wait for it in the same way.
std::optional<Status> deliver(Transfer const& transfer, bool held, std::uint64_t origin, Peer& peer,
                              std::chrono::nanoseconds patience, std::function<void()> const& serve);
std::optional<Status> deliver(Update const& update, bool held, std::uint64_t origin, Peer& peer,
                              std::chrono::nanoseconds patience, std::function<void()> const& serve);

}  // namespace mpix::engine
