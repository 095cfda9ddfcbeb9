/// The life of a grant, from its start to the end of its data process.
#pragma once

#include <string>

#include "nam/server/live_grants.hpp"
#include "nam/server/request.hpp"

namespace mpixrma::nam {

struct ServerState;

/// Starts the data process of a grant. `asked_by`: the client that waits for the answer; 0: none.
void start_grant(ServerState& server, Grant const& grant, ClientId asked_by);
/// Ends a grant. Returns the link to its data process. Throws Error.
DataLink const& end_grant(ServerState& server, std::string const& id);
/// Ends the grants that an earlier control process has removed from the catalog and not ended. Called after
/// all grants of the catalog have been started.
void end_leftovers(ServerState& server);
/// Called once a second.
void end_expired(ServerState& server);
/// Starts the grace period of a grant that has expired, or ends that of a grant that was extended.
void note_expiry(ServerState& server, LiveGrant& live);
/// Drops the links of data processes that have ended. Stops a server that is shutting down when no link is
/// left.
void drop_ended(ServerState& server);

Json describe(ServerState const& server, LiveGrant const& live);

}  // namespace mpixrma::nam
