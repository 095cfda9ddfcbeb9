/// The requests that the control process serves. Each function returns the answer; null if it comes later.
#pragma once

#include "nam/server/live_grants.hpp"
#include "nam/server/request.hpp"

namespace mpixrma::nam {

struct ServerState;

// authentication.cpp
Json hello(ServerState& server, Request& request);
Json prove(ServerState& server, Request& request);
Json own_secret(ServerState& server, Request& request);
Json rotate_key(ServerState& server, Request& request);

// grants.cpp
Json grant(ServerState& server, Request& request);
Json revoke(ServerState& server, Request& request);
Json extend(ServerState& server, Request& request);
Json list(ServerState& server, Request& request);
Json show(ServerState& server, Request& request);
Json usage(ServerState& server, Request& request);
Json repair(ServerState& server, Request& request);
/// Returns a grant that the client may see: its owner and administrators may. For all others it does not
/// exist.
LiveGrant& grant_for(ServerState& server, Request& request);

// windows.cpp
Json open(ServerState& server, Request& request);
Json connect(ServerState& server, Request& request);
Json evict(ServerState& server, Request& request);
Json chmod(ServerState& server, Request& request);

// names.cpp
Json names(ServerState& server, Request& request);
Json publish(ServerState& server, Request& request);
Json lookup(ServerState& server, Request& request);
Json unpublish(ServerState& server, Request& request);

}  // namespace mpixrma::nam
