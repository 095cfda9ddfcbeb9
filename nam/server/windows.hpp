/// Persistent windows, and the clients that may see them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "nam/server/catalog.hpp"
#include "nam/server/name_searches.hpp"
#include "nam/server/request.hpp"

namespace mpixrma::nam {

struct ServerState;

std::string port_of_window(ServerState const& server, std::string const& grant, std::string const& window);

/// A page of the grant's persistent windows, for its data process.
Json windows_of(ServerState& server, std::string const& grant, std::uint64_t after);
/// Adds a window to the catalog; returns its port. Throws Error.
std::string keep_window(ServerState& server, std::string const& grant, Json const& window);

/// Whether the client may do anything with the window.
bool is_visible(ServerState& server, ClientId id, Catalog::Found const& found);
/// Returns the window of a port name or identifier; nothing if the client may do nothing with it.
std::optional<Catalog::Found> visible_window(ServerState& server, Request& request, std::string const& port);

/// A step of a search for names (names.cpp).
NameSearches::Step continue_search(ServerState& server, NameSearch& search);

}  // namespace mpixrma::nam
