/// Versions of the protocols (protocol_version is the one between clients and servers). A change that an
/// earlier program would misunderstand increments the version.
#pragma once

#include "nam/protocol/channel.hpp"
#include "nam/protocol/handshake.hpp"

namespace mpixrma::nam {

/// Version between the server's processes: a data process sends it when it is ready.
inline constexpr unsigned data_protocol_version = 6;

/// Throws Error(unsupported), with one line for the user, if the first request over a Unix socket has another
/// version. Clients of version 1 sent no version.
inline void check_protocol(Json const& request) {
  auto const version = field_or<std::uint64_t>(request, "version", 1);
  if (version == protocol_version) return;
  char const* const older = version < protocol_version ? "client" : "server";
  throw Error(ErrorCode::unsupported, "the client speaks version " + std::to_string(version) +
                                          " of the protocol, the memory server version " +
                                          std::to_string(protocol_version) + ": update mpix-rma of the " +
                                          older);
}

}  // namespace mpixrma::nam
