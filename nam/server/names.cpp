/// ControlServer: published names. A name belongs to its publisher, and counts against the grant of its
/// window.
#include "nam/protocol/text.hpp"
#include "nam/server/control_server.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::size_t names_in_page = 256;
/// Few: a name of a window with a large description takes long.
constexpr std::size_t names_in_query = 4;
/// Other clients are served between two steps.
constexpr std::chrono::milliseconds longest_step{2};
constexpr std::chrono::milliseconds search_pause{1};
/// Users who do not own a grant leave room for its owner's names.
constexpr std::uint64_t max_foreign_names = 64;           ///< of a user in a grant
constexpr std::uint64_t max_foreign_names_in_all = 1024;  ///< of all of them in a grant

}  // namespace

/// Returns the user whose name the request means: "user", or the user himself; nothing if there is no such
/// user.
std::optional<uid_t> ControlServer::name_owner(ClientId id, Json const& request) const {
  if (!request.contains("user")) return identity(id).uid;
  try {
    return parse_user(field<std::string>(request, "user"));
  } catch (Error const& error) {
    if (error.code() == ErrorCode::malformed) throw;
    return std::nullopt;
  }
}

/// Returns the requested name if the user may see it; own names first, then "~user/NAME". The answers for an
/// absent name and for a name that is not visible to the user are the same.
Catalog::FoundName ControlServer::visible_name(ClientId id, Json const& request) {
  auto const wanted = field<std::string>(request, "name");
  auto const find = [&](std::optional<uid_t> owner,
                        std::string const& name) -> std::optional<Catalog::FoundName> {
    auto window = owner ? catalog_.find_name({*owner, name}) : std::nullopt;
    bool const is_hidden = window && !is_visible(id, *window);
    has_hidden_ = has_hidden_ || is_hidden;
    if (!window || is_hidden) return std::nullopt;
    return Catalog::FoundName{{*owner, name}, std::move(*window)};
  };
  auto found = find(name_owner(id, request), wanted);
  ForeignName const foreign = parse_name(wanted);
  if (!found && !foreign.user.empty() && !request.contains("user"))
    found = find(name_owner(id, {{"user", foreign.user}}), foreign.name);
  if (!found) throw Error(ErrorCode::not_found, "there is no name '" + wanted + "'");
  return std::move(*found);
}

/// Returns a page of one user's names, or of everybody's with "all": those after "after" ("after_owner").
Json ControlServer::names(ClientId id, Json const& request) {
  NameSearch search;
  bool const all = field_or(request, "all", false);
  auto const owner = name_owner(id, request);
  if (!owner) return {{"names", Json::array()}};
  if (!all) search.owner = owner;
  search.after = {all ? field_or<uid_t>(request, "after_owner", 0) : *owner,
                  field_or<std::string>(request, "after", "")};
  clients_.at(id).connection->pause();
  search.client = id;
  searches_[subordinates_.owner_of(identity(id).uid)].push_back(std::move(search));
  if (search_timer_ < 0) search_timer_ = loop_.add_timer([this] { continue_searches(); });
  EventLoop::start_timer(search_timer_, search_pause);
  return nullptr;
}

/// Continues the search with some names. Returns true when it has answered.
bool ControlServer::continue_search(NameSearch& search) {
  auto const client = clients_.find(search.client);
  if (client == clients_.end()) return true;
  Connection& connection = *client->second.connection;
  auto const end = Retry::Clock::now() + longest_step;
  try {
    SearchResult result = search_names(search);
    for (; result == SearchResult::some; result = search_names(search)) {
      if (Retry::Clock::now() >= end) return false;
    }
    connection.post({{"names", search.found}, {"more", result == SearchResult::page}});
  } catch (Error const& error) {
    connection.post(to_answer(error));
  }
  connection.resume();
  return true;
}

ControlServer::SearchResult ControlServer::search_names(NameSearch& search) {
  auto const names = catalog_.names(search.owner, search.after, names_in_query);
  for (Catalog::FoundName const& each : names) {
    search.after = each.key;
    if (!is_visible(search.client, each.window)) continue;
    // Names of one user follow each other, and the user database may be slow.
    if (std::exchange(search.named_owner, each.key.owner) != each.key.owner)
      search.owner_name = user_name(each.key.owner);
    search.found.push_back({{"name", each.key.name},
                            {"owner", search.owner_name},
                            {"uid", each.key.owner},
                            {"port", port_of_window(each.window.grant, each.window.window.id)}});
    if (search.found.size() == names_in_page) return SearchResult::page;
  }
  return names.size() < names_in_query ? SearchResult::all : SearchResult::some;
}

/// Makes one step of one search at a time, so that others are served in between, however many names there are
/// that the searching user may not see. Users take turns, whatever number of searches each of them has.
void ControlServer::continue_searches() {
  auto next = searches_.upper_bound(last_searcher_);
  if (next == searches_.end()) next = searches_.begin();
  if (next == searches_.end()) return;
  last_searcher_ = next->first;
  NameSearch search = std::move(next->second.front());
  next->second.pop_front();
  if (next->second.empty()) searches_.erase(next);
  if (!continue_search(search)) searches_[last_searcher_].push_back(std::move(search));
  if (!searches_.empty()) EventLoop::start_timer(search_timer_, search_pause);
}

Json ControlServer::publish(ClientId id, Json const& request) {
  NameKey const key{identity(id).uid, field<std::string>(request, "name")};
  auto const port = field<std::string>(request, "port");
  check_name(key.name);
  auto const found = visible_window(id, port);
  if (!found) throw Error(ErrorCode::not_found, "there is no window '" + port + "'");
  uid_t const owner = grants_.at(found->grant).grant.owner;
  if (key.owner != owner) {
    auto const there = catalog_.count_foreign_names(found->grant, owner, key.owner);
    if (there.of_user >= max_foreign_names || there.of_all >= max_foreign_names_in_all)
      throw Error(ErrorCode::quota,
                  "users who do not own the grant have published as many names in it as they may");
  }
  catalog_.together([&] {
    catalog_.publish(key, found->window.id);
    catalog_.check_metadata(found->grant, options_.max_metadata);
  });
  return {{"name", key.name}};
}

Json ControlServer::lookup(ClientId id, Json const& request) {
  Catalog::FoundName const name = visible_name(id, request);
  return {{"name", name.key.name},
          {"owner", user_name(name.key.owner)},
          {"port", port_of_window(name.window.grant, name.window.window.id)}};
}

Json ControlServer::unpublish(ClientId id, Json const& request) {
  Identity const& who = identity(id);
  auto const wanted = field<std::string>(request, "name");
  // Also if the publisher may not see the window any more.
  bool const is_own = !request.contains("user") && catalog_.find_name({who.uid, wanted});
  if (is_own && !is_dry_run_) catalog_.unpublish({who.uid, wanted});
  if (is_own) return {{"name", wanted}, {"owner", user_name(who.uid)}};
  Catalog::FoundName const name = visible_name(id, request);
  if (!who.is_admin && who.uid != name.key.owner && who.uid != grants_.at(name.window.grant).grant.owner)
    throw Error(ErrorCode::denied,
                "only the user who has published a name, and the owner of the grant, remove it");
  if (!is_dry_run_) catalog_.unpublish(name.key);
  return {{"name", name.key.name}, {"owner", user_name(name.key.owner)}};
}

}  // namespace mpixrma::nam
