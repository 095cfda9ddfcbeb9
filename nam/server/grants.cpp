/// ControlServer: grants.
#include <unistd.h>

#include "nam/data/segment_allocator.hpp"
#include "nam/process/log.hpp"
#include "nam/protocol/units.hpp"
#include "nam/server/control_server.hpp"

namespace mpixrma::nam {

/// Returns a grant that the client may see: its owner and administrators may. For all others it does not
/// exist.
ControlServer::Live& ControlServer::grant_for(ClientId id, Json const& request) {
  auto name = field<std::string>(request, "grant");
  if (is_locator(name)) name = parse_locator(name).grant;
  auto const found = grants_.find(name);
  Identity const& who = identity(id);
  has_hidden_ = found != grants_.end() && !(who.is_admin || who.uid == found->second.grant.owner);
  if (found == grants_.end() || has_hidden_)
    throw Error(ErrorCode::not_found, "there is no grant '" + name + "'");
  return found->second;
}

/// Includes grants that have ended, as long as their process exists, or another process has their memory.
ControlServer::Committed ControlServer::committed(uid_t owner) const {
  Committed found;
  auto const count = [&](uid_t user, std::uint64_t bytes) {
    found.bytes += bytes;
    if (user != owner) return;
    found.bytes_of_user += bytes;
    ++found.grants_of_user;
  };
  for (auto const& [id, live] : grants_) count(live.grant.owner, live.grant.bytes);
  for (auto const& link : ending_) count(link->owner(), link->held_bytes());
  return found;
}

void ControlServer::check_capacity(Identity const& who, Grant const& grant) const {
  Committed const found = committed(grant.owner);
  auto const left = [](std::uint64_t limit, std::uint64_t used) { return limit - std::min(limit, used); };
  if (!who.is_admin && (grant.owner != who.uid || options_.self_service == 0))
    throw Error(ErrorCode::denied, "only administrators of the server make grants" +
                                       std::string(options_.self_service == 0 ? "" : " for others"));
  if (!who.is_admin && grant.bytes > left(options_.self_service, found.bytes_of_user))
    throw Error(ErrorCode::quota, "of what you may grant to yourself, " +
                                      format_bytes(left(options_.self_service, found.bytes_of_user)) +
                                      " are left");
  if (!who.is_admin && found.grants_of_user >= options_.max_user_grants)
    throw Error(ErrorCode::quota,
                "you have as many grants as a user may make: " + std::to_string(options_.max_user_grants) +
                    ", those that are ending included");
  if (options_.user_capacity != 0 && grant.bytes > left(options_.user_capacity, found.bytes_of_user))
    throw Error(ErrorCode::quota, "of what a user may be granted, " +
                                      format_bytes(left(options_.user_capacity, found.bytes_of_user)) +
                                      " are left");
  if (grant.bytes > left(options_.capacity, found.bytes))
    throw Error(ErrorCode::no_space, "the server has " + format_bytes(left(options_.capacity, found.bytes)) +
                                         " left, and " + format_bytes(grant.bytes) + " were asked for");
}

Json ControlServer::grant(ClientId id, Json const& request) {
  Grant made;
  auto const bytes = field<std::uint64_t>(request, "bytes");
  if (bytes == 0 || bytes > std::uint64_t{1} << 60)
    throw Error(ErrorCode::bad_request, "the size of the grant is 0 or too large");
  made.id = random_identifier();
  made.bytes = bytes_of_pages(options_.storage, SegmentAllocator::footprint(bytes));
  made.owner =
      request.contains("owner") ? parse_user(field<std::string>(request, "owner")) : identity(id).uid;
  made.storage = options_.storage;
  made.created = calendar_.now();
  if (request.contains("seconds"))
    made.expires = made.created + static_cast<std::int64_t>(field<std::uint32_t>(request, "seconds"));
  if (made.storage == StorageKind::file) made.file = GrantFile::name_for(options_.storage_directory, made.id);
  if (!identity(id).is_admin) made.grantor = identity(id).uid;
  check_capacity(identity(id), made);
  // Before the catalog has the grant: from then on a missing file is a loss.
  std::optional<GrantFile> file;
  if (!made.file.empty()) file.emplace(made.file, StorageIdentity{made.id, made.bytes}).create();
  try {
    catalog_.add(made);
  } catch (Error const&) {
    if (file) file->remove();
    throw;
  }
  clients_.at(id).connection->pause();
  start(made, id);
  return nullptr;
}

Json ControlServer::setup_of(Grant const& grant) const {
  return {{"grant", grant.id},
          {"owner", grant.owner},
          {"bytes", grant.bytes},
          {"storage", to_string(grant.storage)},
          {"temporary", options_.temporary},
          {"overcommit", options_.overcommit},
          {"interfaces", options_.interfaces},
          {"rdma", to_string(options_.remote_keys)},
          {"encrypt", options_.encrypt},
          {"adoption", (options_.directory / "run" / grant.id.substr(0, 16)).string()},
          {"max_windows", options_.max_windows},
          {"max_regions", options_.max_regions},
          {"max_metadata", options_.max_metadata},
          {"max_sessions", options_.max_sessions},
          {"lease", options_.lease}};
}

void ControlServer::start(Grant const& grant, ClientId asked_by) {
  std::string const id = grant.id;
  DataLink::Events events;
  events.ready = [this, id] { loop_.later([this, id] { on_grant_ready(id); }); };
  events.failed = [this, id](Error const& error) {
    loop_.later([this, id, error] { on_grant_failed(id, error); });
  };
  events.admins = [this] { return admins(); };
  events.window_count = [this, id] { return catalog_.count_windows(id); };
  events.windows = [this, id](std::uint64_t after) { return windows_of(id, after); };
  events.memory_lost = [this, id] {
    if (std::int64_t const lost = catalog_.remove_windows(id); lost != 0)
      log(Severity::warning, std::to_string(lost) + " windows of grant " + id +
                                 " are lost: the server was restarted, and its storage is not a file");
  };
  events.create = [this, id](Json const& window) { return keep_window(id, window); };
  events.denied = [this, id](Json const& act) {
    auto const request = field<std::string>(act, "request");
    audit_.record({user_name(field<uid_t>(act, "uid")), "session of grant " + id, request,
                   field_or<std::string>(act, "window", ""),
                   request.empty() ? AuditLog::omitted_acts : "denied", field<std::string>(act, "text"),
                   field_or<std::uint64_t>(act, "omitted", 0)});
  };
  events.ended = [this] { loop_.later([this] { drop_ended(); }); };
  events.lost_window = [this, id](std::string const& window) {
    // A data process may only report about its own grant.
    auto const found = catalog_.find_window(window);
    if (!found || found->grant != id) return;
    log(Severity::warning, "window " + window + " is not there any more");
    lost_windows_.insert(window);
    loop_.later([this] { remove_lost_windows(); });
  };
  Live& live = grants_[id];
  live.grant = grant;
  live.asked_by = asked_by;
  if (!grant.file.empty()) {
    live.file.emplace(grant.file, StorageIdentity{grant.id, grant.bytes});
    // Captured by value: a link that ends outlives its grant.
    events.open_file = [file = *live.file] { return file.open(); };
    events.file_is_whole = [file = *live.file] { file.commit(); };
  }
  live.link = std::make_unique<DataLink>(loop_, spawner_, setup_of(grant), grant.storage != StorageKind::file,
                                         std::move(events));
  live.link->start(asked_by != 0 ? DataLink::OnFailure::give_up : DataLink::OnFailure::try_again);
}

void ControlServer::on_grant_ready(std::string const& id) {
  auto const found = grants_.find(id);
  if (found == grants_.end()) return;
  Grant const& grant = found->second.grant;
  log_of_grant(grant, "grant " + id + " of " + format_bytes(grant.bytes) + " for " + user_name(grant.owner));
  answer_paused(std::exchange(found->second.asked_by, 0), describe(found->second));
}

/// Removes the grant if no client knows it; otherwise it remains, and its users are notified.
void ControlServer::on_grant_failed(std::string const& id, Error const& error) {
  auto const found = grants_.find(id);
  if (found == grants_.end()) return;
  ClientId const asked_by = std::exchange(found->second.asked_by, 0);
  if (asked_by == 0) return;
  found->second.is_unwanted = true;
  delete_grant(id);
  answer_paused(asked_by, to_answer(error));
}

void ControlServer::end_grant(std::string const& id) {
  auto const found = grants_.find(id);
  catalog_.remove_grant(id);
  if (found->second.file) found->second.file->remove();
  found->second.link->end(false);
  ending_.push_back(std::move(found->second.link));
  log_of_grant(found->second.grant, "grant " + id + " has ended");
  answer_paused(found->second.asked_by, to_answer(Error(ErrorCode::not_found, "the grant has ended")));
  grants_.erase(found);
}

void ControlServer::end_expired() {
  std::vector<std::string> expired;
  auto const now = Retry::Clock::now();
  std::int64_t const jump = calendar_.follow();
  if (jump != 0)
    log(Severity::warning, "the clock was set by " + std::to_string(jump) + " s: no grant is deleted for " +
                               format_seconds(options_.expiry_grace));
  for (auto& [id, live] : grants_) {
    if (jump != 0) live.grace.restart();
    note_expiry(live);
    bool const is_over = live.grace.is_over(options_.expiry_grace, calendar_.uptime());
    if ((is_over || live.is_unwanted) && live.deletion.is_due(now)) expired.push_back(id);
  }
  for (std::string const& id : expired) delete_grant(id);
}

void ControlServer::note_expiry(Live& live) {
  bool const had_expired = live.grace.has_begun();
  live.grace.note(live.grant.expires && *live.grant.expires <= calendar_.now(), calendar_.uptime());
  if (had_expired || !live.grace.has_begun()) return;
  log(Severity::warning, "grant " + live.grant.id + " has expired, and is deleted in " +
                             format_seconds(options_.expiry_grace) + " unless it is extended");
}

/// Tried again later if the catalog cannot be written.
void ControlServer::delete_grant(std::string const& id) {
  try {
    end_grant(id);
  } catch (Error const& error) {
    log(Severity::error, "grant " + id + " cannot be deleted now, and is later: " + error.what());
    grants_.at(id).deletion.note_failure(Retry::Clock::now());
  }
}

void ControlServer::remove_lost_windows() {
  if (lost_windows_.empty() || !lost_windows_removal_.is_due(Retry::Clock::now())) return;
  try {
    for (; !lost_windows_.empty(); lost_windows_.erase(lost_windows_.begin()))
      catalog_.remove_window(*lost_windows_.begin());
    lost_windows_removal_.note_success();
  } catch (Error const& error) {
    log(Severity::error, std::string("lost windows cannot be deleted now, and are later: ") + error.what());
    lost_windows_removal_.note_failure(Retry::Clock::now());
  }
}

Json ControlServer::revoke(ClientId id, Json const& request) {
  Live const& live = grant_for(id, request);
  std::string const name = live.grant.id;
  if (is_dry_run_) {
    Json json = describe(live);
    json["names"] = catalog_.count_names(name);
    return json;
  }
  end_grant(name);
  DataLink const* const link = ending_.back().get();
  if (link->has_ended()) return {{"grant", name}};
  // The client is answered when the data process ends: from then on its memory is free for other grants.
  clients_.at(id).connection->pause();
  revocations_.push_back({link, id, name});
  return nullptr;
}

void ControlServer::answer_revocations() {
  std::vector<Revocation> done;
  std::erase_if(revocations_, [&](Revocation const& each) {
    if (each.link->has_ended()) done.push_back(each);
    return each.link->has_ended();
  });
  for (Revocation const& each : done) answer_paused(each.client, {{"grant", each.grant}});
}

/// To extend a grant needs the same right as to make one.
void ControlServer::check_extension(Identity const& who, Grant const& grant) const {
  if (who.is_admin) return;
  if (options_.self_service == 0 || grant.grantor != who.uid)
    throw Error(ErrorCode::denied,
                "only administrators of the server extend grants that a user has not made himself");
  if (committed(who.uid).bytes_of_user > options_.self_service)
    throw Error(ErrorCode::quota, "your grants have more than the " + format_bytes(options_.self_service) +
                                      " that you may grant to yourself");
}

/// The time counts from now; without a time, the grant does not expire.
Json ControlServer::extend(ClientId id, Json const& request) {
  Live& live = grant_for(id, request);
  check_extension(identity(id), live.grant);
  std::optional<std::int64_t> expires;
  if (request.contains("seconds"))
    expires = calendar_.now() + static_cast<std::int64_t>(field<std::uint32_t>(request, "seconds"));
  catalog_.set_expiry(live.grant.id, expires);
  live.grant.expires = expires;
  note_expiry(live);
  return describe(live);
}

/// After a failure: tries again, or with `new_file` makes a new storage file in place of the missing or
/// damaged one. Windows whose content is lost are removed.
Json ControlServer::repair(ClientId id, Json const& request) {
  Live& live = grant_for(id, request);
  if (!identity(id).is_admin)
    throw Error(ErrorCode::denied, "only administrators of the server repair grants");
  if (live.link->failure().empty())
    throw Error(ErrorCode::bad_request, "grant " + live.grant.id + " needs no repair");
  if (field_or(request, "new_file", false)) {
    if (!live.file) throw Error(ErrorCode::bad_request, "the storage of the grant is not a file");
    live.file->replace();
    std::int64_t const lost = live.link->has_memory() ? 0 : catalog_.remove_windows(live.grant.id);
    if (lost != 0)
      log(Severity::warning,
          std::to_string(lost) + " windows of grant " + live.grant.id + " are lost with its storage file");
  }
  live.link->retry();
  return describe(live);
}

char const* ControlServer::state_of(Live const& live) const {
  if (live.grace.has_begun()) return "expired";
  if (live.link->is_ready()) return "ready";
  return live.link->failure().empty() ? "preparing" : "not ready";
}

Json ControlServer::describe(Live const& live) const {
  Grant const& grant = live.grant;
  Json json{{"grant", grant.id},
            {"locator", nam::format(Locator{grant.id, "", address_})},
            {"owner", user_name(grant.owner)},
            {"bytes", grant.bytes},
            {"storage", to_string(grant.storage)},
            {"disk", live.file ? live.file->disk_bytes() : 0},
            {"network", network_of(options_)},
            {"created", grant.created},
            {"expires_in", nullptr},
            {"ready", live.link->is_ready()},
            {"reason", live.link->failure()},
            {"state", state_of(live)},
            {"control_pid", ::getpid()},
            {"pid", live.link->pid()}};
  if (grant.expires) json["expires_in"] = *grant.expires - calendar_.now();
  if (live.grace.has_begun()) json["deleted_in"] = live.grace.left(options_.expiry_grace, calendar_.uptime());
  for (char const* const name : {"used", "free", "largest_free", "windows", "persistent", "sessions"})
    json[name] = live.link->usage().value(name, std::uint64_t{0});
  return json;
}

Json ControlServer::list(ClientId id, Json const&) {
  Json found = Json::array();
  for (auto const& [name, live] : grants_) {
    if (identity(id).is_admin || identity(id).uid == live.grant.owner) found.push_back(describe(live));
  }
  return {{"grants", found}};
}

/// Includes a page of the grant's persistent windows: those after `after`.
Json ControlServer::show(ClientId id, Json const& request) {
  Live const& live = grant_for(id, request);
  Catalog::WindowPage const page =
      catalog_.windows(live.grant.id, field_or<std::uint64_t>(request, "after", 0));
  Json json = describe(live);
  json["next"] = page.next;
  json["window_list"] = Json::array();
  for (Window const& window : page.windows) {
    Json entry = to_json(window);
    entry["owner"] = user_name(window.ownership.owner);
    entry["port"] = port_of_window(live.grant.id, window.id);
    entry["bytes"] = window.bytes;
    json["window_list"].push_back(entry);
  }
  return json;
}

Json ControlServer::usage(ClientId id, Json const&) {
  std::uint64_t granted = 0;
  std::uint64_t ending = 0;
  std::uint64_t disk = 0;
  std::uint64_t used = 0;
  std::uint64_t sessions = 0;
  std::map<std::string, std::uint64_t> users;
  for (auto const& [name, live] : grants_) {
    granted += live.grant.bytes;
    if (live.file) disk += live.file->disk_bytes();
    used += live.link->usage().value("used", std::uint64_t{0});
    sessions += live.link->usage().value("sessions", std::uint64_t{0});
    if (identity(id).is_admin || identity(id).uid == live.grant.owner)
      users[user_name(live.grant.owner)] += live.grant.bytes;
  }
  for (auto const& link : ending_) ending += link->held_bytes();
  return {{"capacity", options_.capacity},
          {"granted", granted},
          {"ending", ending},
          {"ending_grants", ending_.size()},
          {"disk", disk},
          {"network", network_of(options_)},
          {"used", used},
          {"sessions", sessions},
          {"grants", grants_.size()},
          {"control_pid", ::getpid()},
          {"connections", admission_.count()},
          {"users", users}};
}

}  // namespace mpixrma::nam
