/// A simulated network for programs that measure the engine itself: the program defines the UCX functions
/// that move messages, which the dynamic linker prefers to UCX's own. These functions simulate any number of
/// processes, which acknowledge every message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/net/session.hpp"
#include "engine/net/wire.hpp"

namespace bench {

inline constexpr std::uint64_t first_process = 0x10000;

/// Returns the publication of simulated process `number`, from 0: the process is on another host, with a UCX
/// address of the size for one network device.
std::vector<std::byte> made_up_publication(std::uint32_t number);
/// Returns the payload of that process's handshake with the engine that has published `target`, and the
/// tokens of the resulting session.
std::vector<std::byte> made_up_handshake(std::uint32_t number, std::span<std::byte const> target,
                                         mpixrma::engine::SessionTokens* tokens);

/// Allocates the state of `processes` simulated processes outside of the measured heap.
void open_stub_network(std::size_t processes);

/// The engine receives this request with its next progress.
void send_to_engine(mpixrma::engine::wire::RequestHeader const& header, std::vector<std::byte> payload);

/// Whether the engine has closed its connection to a simulated process since the process's last handshake.
bool is_disconnected(std::uint32_t number);

/// Returns the number of simulated processes that have yet to acknowledge, plus that of pending messages to
/// the engine.
std::size_t pending_in_stub_network();

}  // namespace bench
