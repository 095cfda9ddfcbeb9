/// ControlServer: sessions and persistent windows.
#include "nam/server/control_server.hpp"

namespace mpixrma::nam {

std::string ControlServer::port_of_window(std::string const& grant, std::string const& window) const {
  return nam::format(Locator{grant, window, address_});
}

/// A page of the grant's persistent windows, for its data process.
Json ControlServer::windows_of(std::string const& grant, std::uint64_t after) {
  Catalog::WindowPage const page = catalog_.windows(grant, after);
  Json found = Json::array();
  for (Window const& window : page.windows) found.push_back(to_json(window));
  return {{"windows", found}, {"next", page.next}};
}

std::string ControlServer::keep_window(std::string const& grant, Json const& window) {
  Window const kept = window_from(window);
  std::string const port = port_of_window(grant, kept.id);
  catalog_.together([&] {
    catalog_.add(grant, kept);
    catalog_.check_metadata(grant, options_.max_metadata);
  });
  return port;
}

/// Whether the client may do anything with the window.
bool ControlServer::is_visible(ClientId id, Catalog::Found const& found) const {
  auto const live = grants_.find(found.grant);
  if (live == grants_.end()) return false;
  Identity const& who = identity(id);
  Ownership const& ownership = found.window.ownership;
  return who.uid == live->second.grant.owner || ownership.permits(who, Access::read) ||
         ownership.permits(who, Access::write);
}

/// Returns the window of a port name or identifier; nothing if the client may do nothing with it.
std::optional<Catalog::Found> ControlServer::visible_window(ClientId id, std::string const& port) {
  auto found = catalog_.find_window(is_locator(port) ? parse_locator(port).window : port);
  has_hidden_ = found && !is_visible(id, *found);
  if (has_hidden_) found.reset();
  return found;
}

/// Passes the connection to the data process, which owns it afterwards.
void ControlServer::hand_over(ClientId id, Live& live, Json const& request) {
  Client& client = clients_.at(id);
  if (!client.connection->is_quiet())
    throw Error(ErrorCode::malformed, "wait for the answer before the next request");
  Json session{{"uid", client.identity->uid},
               {"account", subordinates_.owner_of(client.identity->uid)},
               {"groups", client.identity->groups},
               {"admin", client.identity->is_admin},
               {"request", request}};
  if (!client.is_local) session["stream"] = client.connection->stream_state();
  live.link->hand_over({client.connection->release(), std::move(session), std::move(client.place)});
  loop_.later([this, id] { clients_.erase(id); });
}

Json ControlServer::open(ClientId id, Json const& request) {
  hand_over(id, grant_for(id, request), {{"op", "open"}});
  return nullptr;
}

Json ControlServer::connect(ClientId id, Json const& request) {
  auto const port = field<std::string>(request, "port");
  auto const found = visible_window(id, port);
  if (!found) throw Error(ErrorCode::not_found, "there is no window '" + port + "'");
  hand_over(id, grants_.at(found->grant), {{"op", "connect"}, {"window", found->window.id}});
  return nullptr;
}

Json ControlServer::evict(ClientId id, Json const& request) {
  auto const port = field<std::string>(request, "port");
  auto const found = visible_window(id, port);
  if (!found) throw Error(ErrorCode::not_found, "there is no window '" + port + "'");
  Live& live = grants_.at(found->grant);
  Identity const& who = identity(id);
  if (!who.is_admin && who.uid != live.grant.owner)
    throw Error(ErrorCode::denied, "only the owner of a grant evicts its windows");
  uid_t const owner = found->window.ownership.owner;
  if (field_or(request, "owner", owner) != owner)
    throw Error(ErrorCode::denied, "window '" + port + "' belongs to another user");
  Json const evicted{{"window", found->window.id},      {"grant", found->grant},
                     {"grant_owner", live.grant.owner}, {"owner", owner},
                     {"bytes", found->window.bytes},    {"other_parts", found->window.other_parts}};
  if (is_dry_run_) return evicted;
  catalog_.remove_window(found->window.id);
  live.link->remove_window(found->window.id);
  return evicted;
}

/// By the window's owner, and the grant's. The answer comes when the mode is in force.
Json ControlServer::chmod(ClientId id, Json const& request) {
  auto const port = field<std::string>(request, "port");
  auto const mode = field<unsigned>(request, "mode");
  auto found = visible_window(id, port);
  if (!found) throw Error(ErrorCode::not_found, "there is no window '" + port + "'");
  Live& live = grants_.at(found->grant);
  Identity const& who = identity(id);
  Ownership& ownership = found->window.ownership;
  if (!who.is_admin && who.uid != live.grant.owner && who.uid != ownership.owner)
    throw Error(ErrorCode::denied, "only the owner of a window changes its mode");
  if (field_or(request, "owner", ownership.owner) != ownership.owner)
    throw Error(ErrorCode::denied, "window '" + port + "' belongs to another user");
  check_mode(mode);
  if (live.link->is_behind())
    throw Error(ErrorCode::unavailable, "the data process of the grant is stopped, or busy: try again later");
  ownership.mode = mode;
  catalog_.change(found->window);
  Json const answer{
      {"window", found->window.id}, {"grant", found->grant}, {"grant_owner", live.grant.owner},
      {"owner", ownership.owner},   {"mode", mode},          {"other_parts", found->window.other_parts}};
  clients_.at(id).connection->pause();
  live.link->change_mode(found->window.id, mode, [this, id, answer] { answer_paused(id, answer); });
  return nullptr;
}

}  // namespace mpixrma::nam
