/// ControlServer: sessions, persistent windows and their names.
#include "nam/server/control_server.hpp"

namespace mpix::nam {

namespace {

constexpr std::size_t longest_name = 255;

}  // namespace

std::string ControlServer::port_of_window(std::string const& grant, std::string const& window) const {
  return nam::format(Locator{grant, window, address_});
}

Json ControlServer::windows_of(std::string const& grant) {
  Json found = Json::array();
  for (Window const& window : catalog_.windows(grant)) found.push_back(to_json(window));
  return found;
}

std::string ControlServer::keep_window(std::string const& grant, Json const& window) {
  Window const kept = window_from(window);
  std::string const port = port_of_window(grant, kept.id);
  catalog_.add(grant, kept);
  return port;
}

/// The window that a port name, or its own, leads to; nothing where the user may do nothing with it.
std::optional<Catalog::Found> ControlServer::visible_window(Identity const& who, std::string const& port) {
  auto found = catalog_.find_window(is_locator(port) ? parse_locator(port).window : port);
  if (!found) return std::nullopt;
  auto const live = grants_.find(found->grant);
  if (live == grants_.end()) return std::nullopt;
  Ownership const& ownership = found->window.ownership;
  bool const visible = who.uid == live->second.grant.owner || ownership.permits(who, Access::read) ||
                       ownership.permits(who, Access::write);
  if (!visible) return std::nullopt;
  return found;
}

/// From here on the connection is the data process's.
void ControlServer::hand_over(ClientId id, Live& live, Json const& request) {
  Client& client = clients_.at(id);
  if (!client.connection->is_quiet())
    throw Error(ErrorCode::malformed, "wait for the answer before the next request");
  Json session{{"uid", client.identity->uid},
               {"groups", client.identity->groups},
               {"admin", client.identity->is_admin},
               {"request", request}};
  if (client.secret) {
    session["secret"] = to_hex(*client.secret);
    session["user"] = client.challenge.user;
    session["client_nonce"] = client.challenge.client_nonce;
    session["server_nonce"] = client.challenge.server_nonce;
  }
  live.link->hand_over(client.connection->release(), std::move(session));
  loop_.later([this, id] { clients_.erase(id); });
}

Json ControlServer::open(ClientId id, Json const& request) {
  hand_over(id, grant_for(id, request), {{"op", "open"}});
  return nullptr;
}

Json ControlServer::connect(ClientId id, Json const& request) {
  auto const port = field<std::string>(request, "port");
  auto const found = visible_window(identity(id), port);
  if (!found) throw Error(ErrorCode::not_found, "there is no window '" + port + "'");
  hand_over(id, grants_.at(found->grant), {{"op", "connect"}, {"window", found->window.id}});
  return nullptr;
}

Json ControlServer::evict(ClientId id, Json const& request) {
  auto const port = field<std::string>(request, "port");
  auto const found = visible_window(identity(id), port);
  if (!found) throw Error(ErrorCode::not_found, "there is no window '" + port + "'");
  Live& live = grants_.at(found->grant);
  Identity const& who = identity(id);
  if (!who.is_admin && who.uid != live.grant.owner)
    throw Error(ErrorCode::denied, "only the owner of a grant evicts its windows");
  uid_t const owner = found->window.ownership.owner;
  if (field_or(request, "owner", owner) != owner)
    throw Error(ErrorCode::denied, "window '" + port + "' belongs to another user");
  catalog_.remove_window(found->window.id);
  live.link->remove_window(found->window.id);
  return {{"window", found->window.id}, {"owner", owner}, {"other_parts", found->window.other_parts}};
}

Json ControlServer::names(ClientId id, Json const&) {
  Json found = Json::array();
  for (PublishedName const& name : catalog_.names()) {
    if (visible_window(identity(id), name.port))
      found.push_back({{"name", name.name}, {"port", name.port}, {"owner", user_name(name.owner)}});
  }
  return {{"names", found}};
}

Json ControlServer::publish(ClientId id, Json const& request) {
  PublishedName const name{field<std::string>(request, "name"), field<std::string>(request, "port"),
                           identity(id).uid};
  if (name.name.empty() || name.name.size() > longest_name)
    throw Error(ErrorCode::bad_request, "a name has 1 to 255 characters");
  auto const found = visible_window(identity(id), name.port);
  if (!found) throw Error(ErrorCode::not_found, "there is no window '" + name.port + "'");
  catalog_.publish(name, found->window.id);
  return {{"name", name.name}};
}

Json ControlServer::lookup(ClientId id, Json const& request) {
  auto const wanted = field<std::string>(request, "name");
  auto const name = catalog_.find_name(wanted);
  if (!name || !visible_window(identity(id), name->port))
    throw Error(ErrorCode::not_found, "there is no name '" + wanted + "'");
  return {{"name", name->name}, {"port", name->port}};
}

Json ControlServer::unpublish(ClientId id, Json const& request) {
  auto const wanted = field<std::string>(request, "name");
  auto const name = catalog_.find_name(wanted);
  Identity const& who = identity(id);
  auto const window = name ? visible_window(who, name->port) : std::nullopt;
  if (!window) throw Error(ErrorCode::not_found, "there is no name '" + wanted + "'");
  if (!who.is_admin && who.uid != name->owner && who.uid != grants_.at(window->grant).grant.owner)
    throw Error(ErrorCode::denied, "only who has published a name, or owns the grant, takes it back");
  catalog_.unpublish(wanted);
  return {{"name", wanted}};
}

}  // namespace mpix::nam
