/// The state of the control process.
#pragma once

#include <cstddef>

#include "nam/process/event_loop.hpp"
#include "nam/server/audit.hpp"
#include "nam/server/calendar.hpp"
#include "nam/server/catalog.hpp"
#include "nam/server/clients.hpp"
#include "nam/server/disk_reserve.hpp"
#include "nam/server/listeners.hpp"
#include "nam/server/live_grants.hpp"
#include "nam/server/lost_windows.hpp"
#include "nam/server/main_process_link.hpp"
#include "nam/server/name_searches.hpp"
#include "nam/server/options.hpp"
#include "nam/server/refusals.hpp"
#include "nam/server/request_audit.hpp"
#include "nam/server/server_keys.hpp"
#include "nam/server/user_secrets.hpp"

namespace mpixrma::nam {

/// Everything that the requests of clients read and change. The functions that serve requests (requests.hpp)
/// are in the files of their subjects.
struct ServerState {
  ServerState(Options given, MainProcessLink& main_process_link, Clients::Events events);
  ServerState(ServerState const&) = delete;
  ServerState& operator=(ServerState const&) = delete;

  Options options;
  MainProcessLink& main_process;
  EventLoop loop;
  FileDescriptor lock;  ///< held on the state directory, against a second server
  ServerKeys keys;
  DiskReserve reserve;
  Catalog catalog;
  AuditLog audit;     ///< the log itself
  Calendar calendar;  ///< the clock of expiry dates
  UserSecrets secrets;
  std::size_t const descriptor_limit;
  Clients clients;
  Listeners listeners;
  RequestAudit audit_of_requests;  ///< writes the entries of requests to `audit`
  Refusals refusals;               ///< errors whose answers are delayed
  LiveGrants grants;
  GrantLines grant_lines;  ///< log lines of grants, limited in rate
  LostWindows lost_windows;
  NameSearches name_searches;
  bool is_ending = false;
};

}  // namespace mpixrma::nam
