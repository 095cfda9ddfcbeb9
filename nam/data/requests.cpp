/// DataProcess: the requests of sessions. Each request is checked against the rights of the session.
#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "engine/net/address.hpp"
#include "nam/data/data_process.hpp"
#include "nam/protocol/descriptors.hpp"
#include "nam/protocol/locator.hpp"
#include "nam/protocol/text.hpp"
#include "nam/protocol/units.hpp"
#include "nam/protocol/user_secret.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::size_t largest_read = 1u << 20;
constexpr std::size_t max_reported = 300;  ///< bytes of a client's text in a report to the control process

}  // namespace

void DataProcess::serve(SessionId id, Message& message) {
  try {
    on_request(id, message);
  } catch (Error const& error) {
    if (error.code() == ErrorCode::denied) report_denied(id, message.head, error);
    throw;
  }
}

/// Reports a denied request for the audit. The rate is limited for each user, so that none floods the control
/// process.
void DataProcess::report_denied(SessionId id, Json const& request, Error const& error) {
  if (!control_) return;
  uid_t const user = sessions_.at(id).identity.uid;
  std::string const account = std::to_string(sessions_.at(id).account);
  auto const now = TokenBuckets::Clock::now();
  // A control process that does not read is notified later.
  if (control_->output_bytes() != 0) return denials_.refuse(account, now);
  auto const omitted = denials_.take(account, now);
  if (!omitted) return;
  auto const window = request.find("window");
  std::string const name =
      window != request.end() && window->is_string() ? window->get<std::string>() : std::string();
  control_->post({{"op", "denied"},
                  {"uid", user},
                  {"request", shortened(field<std::string>(request, "op"), max_reported)},
                  {"window", shortened(name, max_reported)},
                  {"text", shortened(error.what(), max_reported)},
                  {"omitted", *omitted}});
}

/// Called once a second.
void DataProcess::report_omitted_denials() {
  if (!control_ || control_->output_bytes() != 0) return;
  for (TokenBuckets::Refused const& each : denials_.take_refused(TokenBuckets::Clock::now())) {
    if (each.source == TokenBuckets::others) continue;  // of no user in particular
    control_->post({{"op", "denied"},
                    {"uid", static_cast<uid_t>(std::stoul(each.source))},
                    {"request", ""},
                    {"text", ""},
                    {"omitted", each.count}});
  }
}

void DataProcess::on_request(SessionId id, Message& message) {
  Session& session = sessions_.at(id);
  session.heard = std::chrono::steady_clock::now();
  Connection& connection = *session.connection;
  Json const& request = message.head;
  auto const op = field<std::string>(request, "op");
  if (op == "open" || op == "usage") return connection.post(usage());
  if (op == "renew") return connection.post({{"lease", leases_.length.count()}});
  if (op == "connect" || op == "join") return connection.post(join(id, request));
  if (op == "read") return read(id, request);
  if (op == "write") return write(id, message);
  if (op == "operate") return operate(id, message);
  if (op == "persist") return persist(id, request);
  if (op == "release") return release(id, request);
  if (op == "map") return map(id);
  if (op == "processes") return processes(id, request);
  if (op == "engine_address") return send_engine_address(id, request);
  if (op == "try_lock") return on_try_lock(id, request);
  if (op == "unlock") return on_unlock(id, request);
  if (op == "end_locks") return on_end_locks(id, request);
  if (op != "allocate" && op != "keep")
    throw Error(ErrorCode::malformed, "unknown request '" + op + "' in a session");
  Json const answer = op == "allocate" ? allocate(id, request) : make_persistent(id, request);
  if (!answer.is_null()) connection.post(answer);
}

/// Returns the window of the request. To a client that may do nothing with it, the window does not exist.
DataProcess::ServedWindow& DataProcess::window_for(SessionId id, Json const& request, WindowRights wanted) {
  auto const name = field<std::string>(request, "window");
  auto const found = windows_.find(name);
  Session const& session = sessions_.at(id);
  auto const has_right = [&](WindowRights access) { return permits(session, found->second.window, access); };
  if (found == windows_.end() || !(has_right(WindowRights::read) || has_right(WindowRights::write)))
    throw Error(ErrorCode::not_found, "there is no window '" + name + "'");
  if (wanted != WindowRights::none && !has_right(wanted))
    throw Error(ErrorCode::denied, std::string("the mode of the window does not let this user ") +
                                       (wanted == WindowRights::read ? "read" : "write") + " it");
  return found->second;
}

bool DataProcess::permits(Session const& session, Window const& window, WindowRights wanted) noexcept {
  return session.is_owner || window.ownership.permits(session.identity, wanted);
}

Json DataProcess::describe(SessionId id, ServedWindow& served) {
  Window const& window = served.window;
  Session const& session = sessions_.at(id);
  Json answer = to_json(window);
  answer["grant"] = grant_;
  answer["owns_grant"] = session.is_owner;
  answer["read"] = permits(session, window, WindowRights::read);
  answer["write"] = permits(session, window, WindowRights::write);
  answer["storage"] = to_string(memory_.kind);
  // The session may map the memory later.
  if (session.is_owner && session.is_local) served.used_by.insert(id);
  served.released_by.erase(id);
  answer["slot"] = served.slot;
  answer["generation"] = memory_.shared->generation(served.slot).load(std::memory_order_relaxed);
  if (session.access.session != 0) answer["exposure"] = expose(served);
  return answer;
}

bool DataProcess::has_room_for(Window const& window) const {
  return memory_.free->largest_free() >= SegmentAllocator::footprint(window.bytes) &&
         windows_.size() + evicted_windows() < std::min(quotas_.windows, memory_.shared->slots()) &&
         window.regions.size() + totals_.regions <= quotas_.regions &&
         metadata_bytes(window) + totals_.metadata <= quotas_.metadata;
}

void DataProcess::check_quotas(Window const& window) const {
  std::uint64_t const most = std::min(quotas_.windows, memory_.shared->slots());
  if (windows_.size() + evicted_windows() >= most)
    throw Error(ErrorCode::quota, "the grant has as many windows as it may have: " + std::to_string(most) +
                                      ", with those that were evicted and are still mapped");
  if (window.regions.size() > quotas_.regions - std::min(quotas_.regions, totals_.regions))
    throw Error(ErrorCode::quota, "the windows of the grant may have " + std::to_string(quotas_.regions) +
                                      " regions in all, and " +
                                      std::to_string(quotas_.regions - totals_.regions) + " are left");
  if (metadata_bytes(window) > quotas_.metadata - std::min(quotas_.metadata, totals_.metadata))
    throw Error(ErrorCode::quota, "the descriptions of the grant's windows may have " +
                                      std::to_string(quotas_.metadata) + " bytes in all");
}

/// Does not check whether these parts exist.
std::vector<std::string> DataProcess::other_parts_of(Json const& request) {
  auto parts = field_or<std::vector<std::string>>(request, "other_parts", {});
  if (parts.size() >= max_parts)
    throw Error(ErrorCode::bad_request, "a window has at most " + std::to_string(max_parts) + " parts");
  for (std::string const& part : parts) {
    if (parse_locator(part).window.empty())
      throw Error(ErrorCode::bad_request, "'" + part + "' does not name a window");
  }
  return parts;
}

Window DataProcess::make_window(Session const& session, Json const& request) {
  Window window;
  window.bytes = lay_out(field<std::vector<std::uint64_t>>(request, "sizes"),
                         field<std::vector<std::uint64_t>>(request, "units"), &window.regions);
  window.ownership = {session.identity.uid,
                      session.identity.groups.empty() ? gid_t{0} : session.identity.groups.front(),
                      field_or(request, "mode", 0600u)};
  check_mode(window.ownership.mode);
  window.durability = parse_durability(field_or<std::string>(request, "durability", "clients"));
  window.other_parts = other_parts_of(request);
  window.chunk_bytes = field_or<std::uint64_t>(request, "stripe", 0);
  if (window.chunk_bytes % chunk_granularity != 0)
    throw Error(ErrorCode::bad_request,
                "stripes are multiples of " + std::to_string(chunk_granularity) + " bytes");
  if (window.durability != Durability::clients && memory_.kind != StorageKind::file)
    throw Error(ErrorCode::unsupported, std::string("windows on storage '") + to_string(memory_.kind) +
                                            "' do not outlive the server: start it with --storage file");
  reclaim_retired();
  if (!has_room_for(window)) reclaim_cached(Cached::all);
  wait_for_retired(window);
  check_quotas(window);
  window.id = random_identifier();
  auto const offset = memory_.free->take(window.bytes);
  if (!offset)
    throw Error(ErrorCode::no_space, "the grant has " + format_bytes(memory_.free->free_bytes()) + " left, " +
                                         format_bytes(memory_.free->largest_free()) +
                                         " of it in one piece, and " + format_bytes(window.bytes) +
                                         " were requested");
  // The content that an earlier window has left there is cleared.
  if (!memory_.storage->is_fresh())
    memory_.storage->clear(*offset, SegmentAllocator::footprint(window.bytes));
  window.offset = *offset;
  for (Region& region : window.regions) region.offset += *offset;
  return window;
}

/// The reply is sent when the persistent window is in the catalog. The storage file may still have the
/// content of an earlier window there: until the window's own content is stored, the window ends with its
/// session.
void DataProcess::make_durable(SessionId id, ServedWindow& served, std::function<void()> failed) {
  begin_storing({id, served.window.id, served.window.durability,
                 [this, id](ServedWindow& stored) { add_to_catalog(id, stored); }, std::move(failed)});
}

void DataProcess::add_to_catalog(SessionId id, ServedWindow& served) {
  if (!control_)
    throw Error(ErrorCode::unavailable,
                "the server's control process is unavailable; the window cannot be kept");
  memory_.segments->add({served.window.id, served.window.offset, served.window.bytes});
  served.session = 0;
  served.window.persistent = true;
  std::uint64_t const creation = catalog_.next_creation++;
  catalog_.pending.emplace(creation, Pending{id, served.window.id});
  if (catalog_.loading) catalog_.loading->newer.insert(served.window.id);
  sessions_.at(id).connection->pause();
  control_->post({{"op", "create"}, {"creation", creation}, {"window", to_json(served.window)}});
  report_usage();
}

Json DataProcess::allocate(SessionId id, Json const& request) {
  Session const& session = sessions_.at(id);
  if (!session.is_owner) throw Error(ErrorCode::denied, "only the owner of a grant allocates in it");
  bool const persistent = field_or(request, "persistent", false);
  if (persistent && !control_)
    throw Error(ErrorCode::unavailable,
                "the server's control process is unavailable; the window cannot be kept");
  Window window = make_window(session, request);
  std::string const name = window.id;
  register_window(std::move(window), id);
  ServedWindow& served = windows_.at(name);
  report_usage_of(served.window);
  try {
    if (!persistent) return describe(id, served);
    make_durable(id, served, [this, name] { drop(name); });
    return nullptr;
  } catch (Error const&) {
    drop(name);
    throw;
  }
}

Json DataProcess::make_persistent(SessionId id, Json const& request) {
  ServedWindow& served = window_for(id, request, WindowRights::write);
  if (served.session != id)
    throw Error(ErrorCode::denied, "the window is not one that ends with this session");
  make_durable(id, served, [] {});
  return nullptr;
}

Json DataProcess::join(SessionId id, Json const& request) {
  return describe(id, window_for(id, request, WindowRights::none));
}

/// A persistent window remains, and its content is written to the storage file.
void DataProcess::release(SessionId id, Json const& request) {
  leave(id, field<std::string>(request, "window"));
  ServedWindow const& served = window_for(id, request, WindowRights::write);
  if (served.session != 0) {
    if (served.session != id) throw Error(ErrorCode::denied, "the window belongs to another session");
    drop(std::string(served.window.id));
    return answer_session(id, done);
  }
  begin_storing({id, served.window.id, Durability::server,
                 [this, id](ServedWindow&) { answer_session(id, done); }, [] {}});
}

void DataProcess::persist(SessionId id, Json const& request) {
  Window const& window = window_for(id, request, WindowRights::write).window;
  begin_storing(
      {id, window.id, window.durability, [this, id](ServedWindow&) { answer_session(id, done); }, [] {}});
}

namespace {

/// Returns where the requested range of the region begins in the grant. Throws if it exceeds the region.
std::uint64_t locate(Window const& window, Json const& request, std::uint64_t bytes) {
  auto const rank = field<std::uint64_t>(request, "rank");
  auto const offset = field<std::uint64_t>(request, "offset");
  if (rank >= window.regions.size()) throw Error(ErrorCode::bad_request, "the window has no such rank");
  Region const& region = window.regions[rank];
  if (offset > region.bytes || bytes > region.bytes - offset)
    throw Error(ErrorCode::bad_request, "the region has " + std::to_string(region.bytes) + " bytes");
  return region.offset + offset;
}

}  // namespace

void DataProcess::read(SessionId id, Json const& request) {
  Window const& window = window_for(id, request, WindowRights::read).window;
  auto const bytes = field<std::uint64_t>(request, "bytes");
  if (bytes > largest_read) throw Error(ErrorCode::bad_request, "a message has at most 1M of data");
  std::vector<std::byte> values(bytes);
  memory_.storage->read(locate(window, request, bytes), values);
  sessions_.at(id).connection->post(done, std::move(values));
}

void DataProcess::write(SessionId id, Message const& message) {
  Window const& window = window_for(id, message.head, WindowRights::write).window;
  std::uint64_t const at = locate(window, message.head, message.data.size());
  memory_.storage->write(at, message.data);
  sessions_.at(id).connection->post(done);
}

/// Passes the memory itself to the owner on this host.
void DataProcess::map(SessionId id) {
  Session& session = sessions_.at(id);
  if (!session.is_owner) throw Error(ErrorCode::denied, "only the owner of a grant maps its memory");
  if (!session.is_local) throw Error(ErrorCode::unsupported, "memory is mapped on the server's host only");
  check_takes_descriptors(session);
  session.has_mapped = true;
  std::vector<FileDescriptor> memory;
  // Opened separately, so that the control process can find out whether the memory is still in use.
  memory.push_back(reopened(memory_.storage->descriptor()));
  memory.push_back(memory_.shared->reopen());
  session.connection->post({{"bytes", memory_.storage->bytes()},
                            {"pid_namespace", engine::HostIdentity::of_this_process().pid_namespace}},
                           {}, std::move(memory));
}

/// A session caches a small window that it has freed (SharedControl::cache_window), for a window of the same
/// shape, as long as nobody else needs the memory.
void DataProcess::reclaim_cached(Cached which) {
  std::vector<std::string> taken;
  for (auto& [name, served] : windows_) {
    if (served.session == 0) continue;
    std::uint64_t const cached = memory_.shared->cached(served.slot);
    bool const is_due = cached != 0 && (which == Cached::all || cached == served.cached);
    served.cached = cached;
    if (is_due && memory_.shared->take_cached(served.slot, cached)) taken.push_back(name);
  }
  for (std::string const& name : taken) drop(name);
}

/// The memory of an evicted window is reused once no process can store to it any more.
void DataProcess::drop(std::string const& name, Ending ending) {
  auto const found = windows_.find(name);
  if (found == windows_.end()) return;
  ServedWindow& served = found->second;
  Window const& window = served.window;
  // The next window in this slot uses the same ranges of the file for its locks.
  for (SessionId const locker : served.lockers) revoke_locks(locker, served, Revoked::all);
  memory_.shared->free_slot(served.slot);
  RetiredSegment piece{.offset = window.offset, .bytes = window.bytes};
  if (window.persistent) piece.window = name;
  if (served.exposure != 0) piece.withdrawn = remote_.engine->withdraw(served.exposure);
  if (ending == Ending::evicted) {
    piece.used_by = users_of(served);
    piece.is_inherited = memory_.is_inherited;
  }
  auto const ended = windows_.extract(found);  // before its memory is given back, which must happen once
  if (may_be_accessed(piece) || !give_back(piece)) retired_.push_back(std::move(piece));
  totals_.regions -= window.regions.size();
  totals_.metadata -= metadata_bytes(window);
  report_usage_of(window);
}

}  // namespace mpixrma::nam
