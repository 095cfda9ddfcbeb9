#include "nam/server/grant_life.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <memory>
#include <set>
#include <system_error>
#include <utility>
#include <vector>

#include "nam/process/log.hpp"
#include "nam/protocol/locator.hpp"
#include "nam/protocol/units.hpp"
#include "nam/server/server_state.hpp"
#include "nam/server/windows.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::size_t min_lingering = 256;

constexpr std::size_t socket_name_length = 16;

/// At this socket the next control process finds the data process.
std::string socket_of(Options const& options, std::string const& grant) {
  return (options.directory / "run" / grant.substr(0, socket_name_length)).string();
}

/// Whether a file may be such a socket, and not one that an administrator has put there.
bool is_socket_name(std::string const& name) {
  return name.size() == socket_name_length &&
         std::ranges::all_of(name, [](unsigned char c) { return std::isxdigit(c) != 0; });
}

/// The message that the data process gets.
Json setup_of(Options const& options, Grant const& grant) {
  return {{"grant", grant.id},
          {"owner", grant.owner},
          {"bytes", grant.bytes},
          {"storage", to_string(grant.storage)},
          {"temporary", options.temporary},
          {"overcommit", options.overcommit},
          {"interfaces", options.interfaces},
          {"rdma", to_string(options.remote_keys)},
          {"encrypt", options.encrypt},
          {"adoption", socket_of(options, grant.id)},
          {"max_windows", options.max_windows},
          {"max_regions", options.max_regions},
          {"max_metadata", options.max_metadata},
          {"max_sessions", options.max_sessions},
          {"lease", options.lease}};
}

/// One turn for all grants of a user: their sessions can have thousands of windows entered in the catalog at
/// the same time. Not the turn of the user's own requests: other users' sessions in these grants would wait
/// for those requests.
std::string turn_of(ServerState const& server, Grant const& grant) {
  return "grants of user " + std::to_string(server.clients.owner_of(grant.owner));
}

/// If the catalog cannot be written, the deletion is tried again later.
void delete_grant(ServerState& server, std::string const& id) {
  try {
    (void)end_grant(server, id);
  } catch (Error const& error) {
    log(Severity::error,
        "grant " + id + " cannot be deleted now, and will be deleted later: " + error.what());
    server.grants.at(id).deletion.note_failure(Retry::Clock::now());
  }
}

void on_grant_ready(ServerState& server, std::string const& id) {
  LiveGrant* const found = server.grants.find(id);
  if (found == nullptr) return;
  Grant const& grant = found->grant;
  server.grant_lines.write(
      server.clients.owner_of(grant.owner),
      "grant " + id + " of " + format_bytes(grant.bytes) + " for " + user_name(grant.owner));
  server.clients.answer_paused(std::exchange(found->asked_by, 0), describe(server, *found));
}

/// Removes the grant if its creator still waits for it: nobody else knows the grant. Any other grant remains.
void on_grant_failed(ServerState& server, std::string const& id, Error const& error) {
  LiveGrant* const found = server.grants.find(id);
  if (found == nullptr) return;
  ClientId const asked_by = std::exchange(found->asked_by, 0);
  if (asked_by == 0) return;
  found->must_delete = true;
  delete_grant(server, id);
  server.clients.answer_paused(asked_by, to_answer(error));
}

char const* state_of(LiveGrant const& live) {
  if (live.grace.has_begun()) return "expired";
  if (live.link->is_ready()) return "ready";
  return live.link->failure().empty() ? "preparing" : "not ready";
}

DataLink::Events events_of(ServerState& server, std::string const& id) {
  DataLink::Events events;
  events.on_ready = [&server, id] { server.loop.later([&server, id] { on_grant_ready(server, id); }); };
  events.on_failed = [&server, id](Error const& error) {
    server.loop.later([&server, id, error] { on_grant_failed(server, id, error); });
  };
  events.admins = [&server] { return server.clients.admins(); };
  events.window_count = [&server, id] { return server.catalog.count_windows(id); };
  events.window_page = [&server, id](std::uint64_t after) { return windows_of(server, id, after); };
  events.on_memory_lost = [&server, id] {
    if (std::int64_t const lost = server.catalog.remove_windows(id); lost != 0)
      log(Severity::warning, std::to_string(lost) + " windows of grant " + id +
                                 " are lost: their memory is gone, and no complete storage file has them");
  };
  events.create = [&server, id](Json const& window) { return keep_window(server, id, window); };
  events.on_denied = [&server, id](Json const& act, uid_t counts_for) {
    server.audit_of_requests.record_denied(id, act, counts_for);
  };
  events.on_ended = [&server] { server.loop.later([&server] { drop_ended(server); }); };
  events.on_window_lost = [&server, id](std::string const& window) {
    // A data process may only report about its own grant.
    auto const found = server.catalog.find_window(window);
    if (!found || found->grant != id) return;
    log(Severity::warning, "window " + window + " is not there any more");
    server.lost_windows.add(window);
    server.loop.later([&server] { server.lost_windows.remove(); });
  };
  return events;
}

std::unique_ptr<DataLink> link_to(ServerState& server, Grant const& grant, DataLink::Events events) {
  return std::make_unique<DataLink>(server.loop, server.main_process, setup_of(server.options, grant),
                                    grant.storage, turn_of(server, grant), std::move(events));
}

}  // namespace

void start_grant(ServerState& server, Grant const& grant, ClientId asked_by) {
  DataLink::Events events = events_of(server, grant.id);
  LiveGrant& live = server.grants.add(grant);
  live.asked_by = asked_by;
  if (!grant.file.empty()) {
    live.file.emplace(grant.file, StorageIdentity{grant.id, grant.bytes});
    // Captured by value: a link that ends outlives its grant.
    events.open_file = [file = *live.file] { return file.open(); };
    events.on_file_complete = [file = *live.file] { file.commit(); };
  }
  live.link = link_to(server, grant, std::move(events));
  live.link->start(asked_by != 0 ? DataLink::OnFailure::give_up : DataLink::OnFailure::try_again);
}

DataLink const& end_grant(ServerState& server, std::string const& id) {
  LiveGrant& live = server.grants.at(id);
  if (live.file) live.file->mark_for_removal();
  try {
    server.catalog.remove_grant(id);
  } catch (Error const&) {
    if (live.file) live.file->unmark();
    throw;
  }
  if (live.file) live.file->remove();
  Grant const ended = live.grant;
  ClientId const asked_by = live.asked_by;
  DataLink const& link = server.grants.end(id);
  server.grant_lines.write(server.clients.owner_of(ended.owner), "grant " + id + " has ended");
  server.clients.answer_paused(asked_by, to_answer(Error(ErrorCode::not_found, "the grant has ended")));
  return link;
}

void end_leftovers(ServerState& server) {
  std::vector<std::string> leftovers = server.main_process.untaken();
  std::set<std::string> known;
  for (std::string const& id : leftovers) known.insert(socket_of(server.options, id));
  server.grants.for_each(
      [&](LiveGrant const& live) { known.insert(socket_of(server.options, live.grant.id)); });
  std::error_code error;
  std::filesystem::directory_iterator each(server.options.directory / "run", error);
  for (; !error && each != std::filesystem::directory_iterator(); each.increment(error)) {
    // The identifier of a grant that nobody else knows is needed only for the log.
    std::string const name = each->path().filename().string();
    if (is_socket_name(name) && !known.contains(each->path().string())) leftovers.push_back(name);
  }
  for (std::string const& id : leftovers) {
    Grant grant;
    grant.id = id;
    grant.owner = ::geteuid();
    server.grants.add_ending(link_to(server, grant, events_of(server, id)));
    server.grants.ending().back()->end_leftover();
  }
}

void end_expired(ServerState& server) {
  std::vector<std::string> expired;
  auto const now = Retry::Clock::now();
  std::int64_t const jump = server.calendar.follow();
  if (jump != 0)
    log(Severity::warning, "the clock was set by " + std::to_string(jump) + " s: no grant is deleted for " +
                               format_seconds(server.options.expiry_grace));
  server.grants.for_each([&](LiveGrant& live) {
    if (jump != 0) live.grace.restart();
    note_expiry(server, live);
    bool const is_over = live.grace.is_over(server.options.expiry_grace, server.calendar.uptime());
    if ((is_over || live.must_delete) && live.deletion.is_due(now)) expired.push_back(live.grant.id);
  });
  for (std::string const& id : expired) delete_grant(server, id);
}

void note_expiry(ServerState& server, LiveGrant& live) {
  bool const had_expired = live.grace.has_begun();
  live.grace.note(live.grant.expires && *live.grant.expires <= server.calendar.now(),
                  server.calendar.uptime());
  if (had_expired || !live.grace.has_begun()) return;
  server.grant_lines.write(server.clients.owner_of(live.grant.owner),
                           "grant " + live.grant.id + " has expired, and is deleted in " +
                               format_seconds(server.options.expiry_grace) + " unless it is extended",
                           Severity::warning);
}

void drop_ended(ServerState& server) {
  if (server.is_ending) {
    if (server.grants.drop_all_ended()) server.loop.stop();
    return;
  }
  auto const max_lingering = std::max(min_lingering, server.descriptor_limit / 16);
  server.grants.drop_ended(static_cast<std::ptrdiff_t>(max_lingering));
}

Json describe(ServerState const& server, LiveGrant const& live) {
  Grant const& grant = live.grant;
  Json json{{"grant", grant.id},
            {"locator", nam::format(Locator{grant.id, "", server.listeners.address()})},
            {"owner", user_name(grant.owner)},
            {"bytes", grant.bytes},
            {"storage", to_string(grant.storage)},
            {"disk", live.file ? live.file->disk_bytes() : 0},
            {"network", network_of(server.options)},
            {"created", grant.created},
            {"expires_in", nullptr},
            {"ready", live.link->is_ready()},
            {"reason", live.link->failure()},
            {"state", state_of(live)},
            {"control_pid", ::getpid()},
            {"pid", live.link->pid()}};
  if (grant.expires) json["expires_in"] = *grant.expires - server.calendar.now();
  if (live.grace.has_begun())
    json["deleted_in"] = live.grace.left(server.options.expiry_grace, server.calendar.uptime());
  for (char const* const name : {"used", "free", "largest_free", "windows", "persistent", "sessions"})
    json[name] = live.link->usage().value(name, std::uint64_t{0});
  return json;
}

}  // namespace mpixrma::nam
