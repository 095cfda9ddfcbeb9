/// Requests for published names. A name belongs to its publisher, and counts against the grant of its window.
#include <optional>
#include <string>
#include <utility>

#include "nam/protocol/text.hpp"
#include "nam/server/requests.hpp"
#include "nam/server/server_state.hpp"
#include "nam/server/windows.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::size_t names_in_page = 256;
/// Few, because a large description of a window takes long to read.
constexpr std::size_t names_in_query = 4;
/// Users who do not own a grant leave room for its owner's names.
constexpr std::uint64_t max_foreign_names = 64;           ///< names of one such user in a grant
constexpr std::uint64_t max_foreign_names_in_all = 1024;  ///< names of all such users in a grant

/// Returns the publisher of the name that the request means: "user", or the user of the connection; nothing
/// if there is no such user.
std::optional<uid_t> name_owner(ServerState const& server, ClientId id, Json const& request) {
  if (!request.contains("user")) return server.clients.identity(id).uid;
  try {
    return parse_user(field<std::string>(request, "user"));
  } catch (Error const& error) {
    if (error.code() == ErrorCode::malformed) throw;
    return std::nullopt;
  }
}

/// Returns the requested name if the user may see it; own names first, then "~user/NAME". The answers for an
/// absent name and for a name that is not visible to the user are the same.
Catalog::FoundName visible_name(ServerState& server, Request& request) {
  auto const wanted = field<std::string>(request.content, "name");
  auto const find = [&](std::optional<uid_t> owner,
                        std::string const& name) -> std::optional<Catalog::FoundName> {
    auto window = owner ? server.catalog.find_name({*owner, name}) : std::nullopt;
    bool const is_hidden = window && !is_visible(server, request.client, *window);
    request.has_hidden = request.has_hidden || is_hidden;
    if (!window || is_hidden) return std::nullopt;
    return Catalog::FoundName{{*owner, name}, std::move(*window)};
  };
  auto found = find(name_owner(server, request.client, request.content), wanted);
  ForeignName const foreign = parse_name(wanted);
  if (!found && !foreign.user.empty() && !request.content.contains("user"))
    found = find(name_owner(server, request.client, {{"user", foreign.user}}), foreign.name);
  if (!found) throw Error(ErrorCode::not_found, "there is no name '" + wanted + "'");
  return std::move(*found);
}

}  // namespace

NameSearches::Step continue_search(ServerState& server, NameSearch& search) {
  auto const names = server.catalog.names(search.owner, search.after, names_in_query);
  for (Catalog::FoundName const& each : names) {
    search.after = each.key;
    if (!is_visible(server, search.client, each.window)) continue;
    // Names of one user follow each other, and the user database may be slow.
    if (std::exchange(search.named_owner, each.key.owner) != each.key.owner)
      search.owner_name = user_name(each.key.owner);
    search.found.push_back({{"name", each.key.name},
                            {"owner", search.owner_name},
                            {"uid", each.key.owner},
                            {"port", port_of_window(server, each.window.grant, each.window.window.id)}});
    if (search.found.size() == names_in_page) return NameSearches::Step::page;
  }
  return names.size() < names_in_query ? NameSearches::Step::all : NameSearches::Step::some;
}

/// Returns a page of one user's names, or of everybody's with "all": those after "after" ("after_owner").
Json names(ServerState& server, Request& request) {
  NameSearch search;
  bool const all = field_or(request.content, "all", false);
  auto const owner = name_owner(server, request.client, request.content);
  if (!owner) return {{"names", Json::array()}};
  if (!all) search.owner = owner;
  search.after = {all ? field_or<uid_t>(request.content, "after_owner", 0) : *owner,
                  field_or<std::string>(request.content, "after", "")};
  search.client = request.client;
  server.name_searches.add(std::move(search));
  return nullptr;
}

Json publish(ServerState& server, Request& request) {
  Catalog& catalog = server.catalog;
  NameKey const key{server.clients.identity(request.client).uid, field<std::string>(request.content, "name")};
  auto const port = field<std::string>(request.content, "port");
  check_name(key.name);
  auto const found = visible_window(server, request, port);
  if (!found) throw Error(ErrorCode::not_found, "there is no window '" + port + "'");
  uid_t const owner = server.grants.at(found->grant).grant.owner;
  if (key.owner != owner) {
    uid_t const account = server.clients.owner_of(key.owner);
    auto const there = catalog.count_foreign_names(
        found->grant, owner, [&](uid_t user) { return server.clients.owner_of(user) == account; });
    if (there.of_user >= max_foreign_names || there.of_all >= max_foreign_names_in_all)
      throw Error(ErrorCode::quota,
                  "users who do not own the grant have published as many names in it as they may");
  }
  catalog.in_transaction([&] {
    catalog.publish(key, found->window.id);
    catalog.check_metadata(found->grant, server.options.max_metadata);
  });
  return {{"name", key.name}};
}

Json lookup(ServerState& server, Request& request) {
  Catalog::FoundName const name = visible_name(server, request);
  return {{"name", name.key.name},
          {"owner", user_name(name.key.owner)},
          {"port", port_of_window(server, name.window.grant, name.window.window.id)}};
}

Json unpublish(ServerState& server, Request& request) {
  Catalog& catalog = server.catalog;
  Identity const& who = server.clients.identity(request.client);
  auto const wanted = field<std::string>(request.content, "name");
  // Publishers remove their names even if they may not see the window any more.
  bool const is_own = !request.content.contains("user") && catalog.find_name({who.uid, wanted});
  if (is_own && !request.is_dry_run) catalog.unpublish({who.uid, wanted});
  if (is_own) return {{"name", wanted}, {"owner", user_name(who.uid)}};
  Catalog::FoundName const name = visible_name(server, request);
  if (!who.is_admin && who.uid != name.key.owner &&
      who.uid != server.grants.at(name.window.grant).grant.owner)
    throw Error(ErrorCode::denied,
                "only the user who has published a name, and the owner of the grant, remove it");
  if (!request.is_dry_run) catalog.unpublish(name.key);
  return {{"name", name.key.name}, {"owner", user_name(name.key.owner)}};
}

}  // namespace mpixrma::nam
