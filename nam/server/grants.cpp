/// Requests for grants.
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "nam/data/segment_allocator.hpp"
#include "nam/process/log.hpp"
#include "nam/protocol/units.hpp"
#include "nam/server/grant_life.hpp"
#include "nam/server/requests.hpp"
#include "nam/server/server_state.hpp"
#include "nam/server/windows.hpp"

namespace mpixrma::nam {

namespace {

void check_capacity(ServerState const& server, Identity const& who, Grant const& grant) {
  Options const& options = server.options;
  LiveGrants::Committed const found = server.grants.committed(grant.owner);
  auto const left = [](std::uint64_t limit, std::uint64_t used) { return limit - std::min(limit, used); };
  if (!who.is_admin && (grant.owner != who.uid || options.self_service == 0))
    throw Error(ErrorCode::denied, "only administrators of the server make grants" +
                                       std::string(options.self_service == 0 ? "" : " for others"));
  if (!who.is_admin && grant.bytes > left(options.self_service, found.bytes_of_user))
    throw Error(ErrorCode::quota, "self-service quota exceeded: " +
                                      format_bytes(left(options.self_service, found.bytes_of_user)) +
                                      " left");
  if (!who.is_admin && found.grants_of_user >= options.max_user_grants)
    throw Error(ErrorCode::quota,
                "you have as many grants as a user may make: " + std::to_string(options.max_user_grants) +
                    ", those that are ending included");
  if (options.user_capacity != 0 && grant.bytes > left(options.user_capacity, found.bytes_of_user))
    throw Error(
        ErrorCode::quota,
        "user quota exceeded: " + format_bytes(left(options.user_capacity, found.bytes_of_user)) + " left");
  if (grant.bytes > left(options.capacity, found.bytes))
    throw Error(ErrorCode::no_space, "the server has " + format_bytes(left(options.capacity, found.bytes)) +
                                         " left, and " + format_bytes(grant.bytes) + " were requested");
}

/// Extending a grant requires the same right as creating one.
void check_extension(ServerState const& server, Identity const& who, Grant const& grant) {
  std::uint64_t const self_service = server.options.self_service;
  if (who.is_admin) return;
  if (self_service == 0 || grant.grantor != who.uid)
    throw Error(ErrorCode::denied,
                "only administrators of the server extend grants that a user did not create");
  if (server.grants.committed(who.uid).bytes_of_user > self_service)
    throw Error(ErrorCode::quota,
                "self-service quota exceeded: your grants have more than " + format_bytes(self_service));
}

}  // namespace

LiveGrant& grant_for(ServerState& server, Request& request) {
  auto name = field<std::string>(request.content, "grant");
  if (is_locator(name)) name = parse_locator(name).grant;
  LiveGrant* const found = server.grants.find(name);
  Identity const& who = server.clients.identity(request.client);
  request.has_hidden = found != nullptr && !(who.is_admin || who.uid == found->grant.owner);
  if (found == nullptr || request.has_hidden)
    throw Error(ErrorCode::not_found, "there is no grant '" + name + "'");
  return *found;
}

Json grant(ServerState& server, Request& request) {
  Options const& options = server.options;
  Identity const& who = server.clients.identity(request.client);
  Grant made;
  auto const bytes = field<std::uint64_t>(request.content, "bytes");
  if (bytes == 0 || bytes > std::uint64_t{1} << 60)
    throw Error(ErrorCode::bad_request, "the size of the grant is 0 or too large");
  made.id = random_identifier();
  made.bytes = bytes_of_pages(options.storage, SegmentAllocator::footprint(bytes));
  made.owner =
      request.content.contains("owner") ? parse_user(field<std::string>(request.content, "owner")) : who.uid;
  made.storage = options.storage;
  made.created = server.calendar.now();
  if (request.content.contains("seconds"))
    made.expires = made.created + static_cast<std::int64_t>(field<std::uint32_t>(request.content, "seconds"));
  if (made.storage == StorageKind::file) made.file = GrantFile::name_for(options.storage_directory, made.id);
  if (!who.is_admin) made.grantor = who.uid;
  check_capacity(server, who, made);
  // Must precede the catalog's entry: from then on a missing file is a loss.
  std::optional<GrantFile> file;
  if (!made.file.empty()) file.emplace(made.file, StorageIdentity{made.id, made.bytes}).create();
  try {
    server.catalog.add(made);
  } catch (Error const&) {
    if (file) file->remove();
    throw;
  }
  server.clients.pause(request.client);
  start_grant(server, made, request.client);
  return nullptr;
}

Json revoke(ServerState& server, Request& request) {
  LiveGrant const& live = grant_for(server, request);
  std::string const name = live.grant.id;
  if (request.is_dry_run) {
    Json json = describe(server, live);
    json["names"] = server.catalog.count_names(name);
    return json;
  }
  DataLink const& link = end_grant(server, name);
  if (link.has_ended()) return {{"grant", name}};
  server.grants.answer_at_end(request.client, link, name);
  return nullptr;
}

/// The time counts from now; without a time, the grant does not expire.
Json extend(ServerState& server, Request& request) {
  LiveGrant& live = grant_for(server, request);
  check_extension(server, server.clients.identity(request.client), live.grant);
  std::optional<std::int64_t> expires;
  if (request.content.contains("seconds"))
    expires =
        server.calendar.now() + static_cast<std::int64_t>(field<std::uint32_t>(request.content, "seconds"));
  server.catalog.set_expiry(live.grant.id, expires);
  live.grant.expires = expires;
  note_expiry(server, live);
  return describe(server, live);
}

/// After a failure: tries again, or with `new_file` makes a new storage file in place of the missing or
/// damaged one. Windows whose content is lost are removed.
Json repair(ServerState& server, Request& request) {
  LiveGrant& live = grant_for(server, request);
  if (!server.clients.identity(request.client).is_admin)
    throw Error(ErrorCode::denied, "only administrators of the server repair grants");
  if (live.link->failure().empty())
    throw Error(ErrorCode::bad_request, "grant " + live.grant.id + " needs no repair");
  if (field_or(request.content, "new_file", false)) {
    if (!live.file) throw Error(ErrorCode::bad_request, "the storage of the grant is not a file");
    // Must come first: with a new file, windows that stay in the catalog would come back as zeros.
    std::int64_t const lost = live.link->has_memory() ? 0 : server.catalog.remove_windows(live.grant.id);
    live.file->replace();
    if (lost != 0)
      log(Severity::warning,
          std::to_string(lost) + " windows of grant " + live.grant.id + " are lost with its storage file");
  }
  live.link->retry();
  return describe(server, live);
}

Json list(ServerState& server, Request& request) {
  Json found = Json::array();
  Identity const& who = server.clients.identity(request.client);
  server.grants.for_each([&](LiveGrant const& live) {
    if (who.is_admin || who.uid == live.grant.owner) found.push_back(describe(server, live));
  });
  return {{"grants", found}};
}

/// Includes a page of the grant's persistent windows: those after `after`.
Json show(ServerState& server, Request& request) {
  LiveGrant const& live = grant_for(server, request);
  Catalog::WindowPage const page =
      server.catalog.windows(live.grant.id, field_or<std::uint64_t>(request.content, "after", 0));
  Json json = describe(server, live);
  json["next"] = page.next;
  json["window_list"] = Json::array();
  for (Window const& window : page.windows) {
    Json entry = to_json(window);
    entry["owner"] = user_name(window.ownership.owner);
    entry["port"] = port_of_window(server, live.grant.id, window.id);
    entry["bytes"] = window.bytes;
    json["window_list"].push_back(entry);
  }
  return json;
}

Json usage(ServerState& server, Request& request) {
  Identity const& who = server.clients.identity(request.client);
  std::uint64_t granted = 0;
  std::uint64_t ending = 0;
  std::uint64_t disk = 0;
  std::uint64_t used = 0;
  std::uint64_t sessions = 0;
  std::map<std::string, std::uint64_t> users;
  server.grants.for_each([&](LiveGrant const& live) {
    granted += live.grant.bytes;
    if (live.file) disk += live.file->disk_bytes();
    used += live.link->usage().value("used", std::uint64_t{0});
    sessions += live.link->usage().value("sessions", std::uint64_t{0});
    if (who.is_admin || who.uid == live.grant.owner) users[user_name(live.grant.owner)] += live.grant.bytes;
  });
  for (auto const& link : server.grants.ending()) ending += link->occupied_bytes();
  return {{"capacity", server.options.capacity},
          {"granted", granted},
          {"ending", ending},
          {"ending_grants", server.grants.ending().size()},
          {"disk", disk},
          {"network", network_of(server.options)},
          {"used", used},
          {"sessions", sessions},
          {"grants", server.grants.size()},
          {"control_pid", ::getpid()},
          {"connections", server.clients.count()},
          {"users", users}};
}

}  // namespace mpixrma::nam
