/// Sessions and persistent windows.
#include "nam/server/windows.hpp"

#include <utility>

#include "nam/protocol/locator.hpp"
#include "nam/server/requests.hpp"
#include "nam/server/server_state.hpp"

namespace mpixrma::nam {

std::string port_of_window(ServerState const& server, std::string const& grant, std::string const& window) {
  return nam::format(Locator{grant, window, server.listeners.address()});
}

Json windows_of(ServerState& server, std::string const& grant, std::uint64_t after) {
  Catalog::WindowPage const page = server.catalog.windows(grant, after);
  Json found = Json::array();
  for (Window const& window : page.windows) found.push_back(to_json(window));
  return {{"windows", found}, {"next", page.next}};
}

std::string keep_window(ServerState& server, std::string const& grant, Json const& window) {
  Window const kept = window_from(window);
  std::string port = port_of_window(server, grant, kept.id);
  (void)parse_locator(port);  // throws if the data process has sent no identifier
  server.catalog.in_transaction([&] {
    server.catalog.add(grant, kept);
    server.catalog.check_metadata(grant, server.options.max_metadata);
  });
  return port;
}

bool is_visible(ServerState& server, ClientId id, Catalog::Found const& found) {
  LiveGrant const* const live = server.grants.find(found.grant);
  if (live == nullptr) return false;
  Identity const& who = server.clients.identity(id);
  Ownership const& ownership = found.window.ownership;
  return who.uid == live->grant.owner || ownership.permits(who, WindowRights::read) ||
         ownership.permits(who, WindowRights::write);
}

std::optional<Catalog::Found> visible_window(ServerState& server, Request& request, std::string const& port) {
  auto found = server.catalog.find_window(is_locator(port) ? parse_locator(port).window : port);
  request.has_hidden = found && !is_visible(server, request.client, *found);
  if (request.has_hidden) found.reset();
  return found;
}

namespace {

/// Passes the connection to the data process, which owns it afterwards.
void hand_over(ServerState& server, ClientId id, LiveGrant& live, Json const& request) {
  Client& client = server.clients.at(id);
  if (!client.connection->is_idle())
    throw Error(ErrorCode::malformed, "wait for the answer before the next request");
  Json session{{"uid", client.identity->uid},
               {"account", server.clients.owner_of(client.identity->uid)},
               {"groups", client.identity->groups},
               {"admin", client.identity->is_admin},
               {"request", request}};
  if (!client.is_local) session["stream"] = client.connection->stream_state();
  live.link->hand_over({client.connection->release(), std::move(session), std::move(client.place)});
  server.clients.remove_later(id);
}

}  // namespace

Json open(ServerState& server, Request& request) {
  hand_over(server, request.client, grant_for(server, request), {{"op", "open"}});
  return nullptr;
}

Json connect(ServerState& server, Request& request) {
  auto const port = field<std::string>(request.content, "port");
  auto const found = visible_window(server, request, port);
  if (!found) throw Error(ErrorCode::not_found, "there is no window '" + port + "'");
  hand_over(server, request.client, server.grants.at(found->grant),
            {{"op", "connect"}, {"window", found->window.id}});
  return nullptr;
}

Json evict(ServerState& server, Request& request) {
  auto const port = field<std::string>(request.content, "port");
  auto const found = visible_window(server, request, port);
  if (!found) throw Error(ErrorCode::not_found, "there is no window '" + port + "'");
  LiveGrant& live = server.grants.at(found->grant);
  Identity const& who = server.clients.identity(request.client);
  if (!who.is_admin && who.uid != live.grant.owner)
    throw Error(ErrorCode::denied, "only the owner of a grant evicts its windows");
  uid_t const owner = found->window.ownership.owner;
  if (field_or(request.content, "owner", owner) != owner)
    throw Error(ErrorCode::denied, "window '" + port + "' belongs to another user");
  Json evicted{{"window", found->window.id},      {"grant", found->grant},
               {"grant_owner", live.grant.owner}, {"owner", owner},
               {"bytes", found->window.bytes},    {"other_parts", found->window.other_parts}};
  if (request.is_dry_run) return evicted;
  server.catalog.remove_window(found->window.id);
  live.link->remove_window(found->window.id);
  return evicted;
}

/// Permitted to the owner of the window, the owner of the grant, and administrators. The answer is sent when
/// the mode is in force.
Json chmod(ServerState& server, Request& request) {
  auto const port = field<std::string>(request.content, "port");
  auto const mode = field<unsigned>(request.content, "mode");
  auto found = visible_window(server, request, port);
  if (!found) throw Error(ErrorCode::not_found, "there is no window '" + port + "'");
  LiveGrant& live = server.grants.at(found->grant);
  Identity const& who = server.clients.identity(request.client);
  Ownership& ownership = found->window.ownership;
  if (!who.is_admin && who.uid != live.grant.owner && who.uid != ownership.owner)
    throw Error(ErrorCode::denied, "only the owner of a window changes its mode");
  if (field_or(request.content, "owner", ownership.owner) != ownership.owner)
    throw Error(ErrorCode::denied, "window '" + port + "' belongs to another user");
  check_mode(mode);
  if (live.link->is_behind())
    throw Error(ErrorCode::unavailable, "the data process of the grant is stopped, or busy: try again later");
  ownership.mode = mode;
  server.catalog.update_window(found->window);
  Json const answer{
      {"window", found->window.id}, {"grant", found->grant}, {"grant_owner", live.grant.owner},
      {"owner", ownership.owner},   {"mode", mode},          {"other_parts", found->window.other_parts}};
  server.clients.pause(request.client);
  live.link->change_mode(found->window.id, mode, [&clients = server.clients, id = request.client, answer] {
    clients.answer_paused(id, answer);
  });
  return nullptr;
}

}  // namespace mpixrma::nam
