/// A network without wires, for programs that ask what the engine itself takes: the functions of UCX that
/// move messages are defined by the program, which the dynamic linker prefers to UCX's own. Behind them stand
/// as many processes as one likes, which acknowledge whatever they are sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/net/session.hpp"
#include "engine/net/wire.hpp"

namespace bench {

inline constexpr std::uint64_t first_process = 0x10000;

/// What made-up process `number`, from 0, publishes: it is on another host, with a UCX address of the size
/// that a process with one network device has.
std::vector<std::byte> made_up_publication(std::uint32_t number);
/// The payload with which it introduces itself to the engine that has published `target`, and the tokens of
/// the session that begins with it.
std::vector<std::byte> made_up_introduction(std::uint32_t number, std::span<std::byte const> target,
                                            mpixrma::engine::SessionTokens* tokens);

/// Room for what is known of `processes` made-up ones, outside of the heap that is measured.
void open_stub_network(std::size_t processes);

/// The engine gets this request with its next progress.
void send_to_engine(mpixrma::engine::wire::RequestHeader const& header, std::vector<std::byte> payload);

/// Whether the engine has closed its connection to a made-up process since that has introduced itself.
bool has_parted(std::uint32_t number);

/// Requests of the engine that were not acknowledged yet, and requests for it.
std::size_t waiting_in_stub_network();

}  // namespace bench
