/// DataProcess: clients that do not map the memory. Owners send operations as messages of an engine, other
/// users as requests (operate.cpp). Both acquire locks by requests, in the same control memory as clients
/// that map it.
#include <malloc.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "nam/data/data_process.hpp"
#include "nam/process/admission.hpp"
#include "nam/process/log.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::uint64_t descriptors_of_access = DataEngine::processes_of_session;

/// Returns the most that messages of all clients of an engine may take at a time: the size of the grant, but
/// at least what the credit of some clients needs, and at most 256M.
std::uint64_t message_bytes_for(std::uint64_t grant_bytes) noexcept {
  return std::clamp<std::uint64_t>(grant_bytes, 32u << 20, 256u << 20);
}

}  // namespace

/// Answers with the engine's address. From now on the descriptions of windows for this session have
/// exposures.
void DataProcess::send_engine_address(SessionId id, Json const& request) {
  Session& session = sessions_.at(id);
  if (!session.is_owner)
    throw Error(ErrorCode::denied, "only the owner of a grant may use its windows through an engine");
  if (remote_.network.interfaces.empty())
    throw Error(ErrorCode::unsupported,
                "the server's windows are reached on its own host only: others need its option --interfaces");
  if (field_or(request, "encrypt", false) && !remote_.network.encrypt)
    throw Error(ErrorCode::unsupported,
                "the server does not encrypt data, which this client demands: start it with --encrypt");
  if (!remote_.engine) start_engine();
  if (session.access.session == 0) open_access(session);
  session.hosts =
      AdmittedHosts(hosts_of_client(ends_of(session.connection->descriptor()),
                                    field_or<std::vector<std::string>>(request, "addresses", {})));
  session.connection->post(done, session.access.address);
}

/// Sessions share half of the descriptors. The other half, minus a reserve, is for connections that UCX
/// accepts.
void DataProcess::start_engine() {
  constexpr std::uint64_t spare_descriptors = 48;
  std::uint64_t const half = raise_descriptor_limit() / 2;
  limit_accepted_connections(half - std::min(half / 2, spare_descriptors));
  remote_.engine = std::make_unique<DataEngine>(remote_.network, memory_.shared->stripes(),
                                                message_bytes_for(memory_.storage->bytes()));
}

/// Called once a second. Any process of an admitted host can connect to UCX's port, so connections that no
/// session uses are ended.
void DataProcess::check_accepted() {
  if (!remote_.engine) return;
  constexpr UnusedConnections longest{.silent = std::chrono::seconds(10),
                                      .without_session = std::chrono::seconds(10)};
  constexpr std::chrono::seconds log_interval{60};
  end_unused_connections(longest);
  auto const now = std::chrono::steady_clock::now();
  if (now - remote_.refusal_reported < log_interval) return;
  RefusedConnections const refused = take_refused_connections();
  if (refused.beyond_limit + refused.not_admitted == 0) return;
  remote_.refusal_reported = now;
  auto const print = [](std::uint64_t count, std::string const& why) {
    if (count != 0)
      log(Severity::warning, "closed " + std::to_string(count) + " connections to the engine's port" + why);
  };
  print(refused.not_admitted, " from hosts that have no session with the grant");
  print(refused.beyond_limit,
        ": more would exhaust this process's descriptors. A packet filter can restrict access to the port");
}

/// Descriptors are charged to the session's holder, because the client's processes connect to the engine.
void DataProcess::open_access(Session& session) {
  shares_.descriptors.take(session.holder(), descriptors_of_access);
  try {
    session.access = remote_.engine->open();
  } catch (Error const&) {
    shares_.descriptors.give_back(session.holder(), descriptors_of_access);
    throw;
  }
}

/// When it returns, no operation of the session is executed any more.
void DataProcess::close_access(Session const& session) noexcept {
  if (session.access.session == 0) return;
  remote_.engine->close(session.access.session);
  shares_.descriptors.give_back(session.holder(), descriptors_of_access);
  remote_.trims_due = 2;
}

/// Called once a second. Gives memory that messages of ended sessions have used back to the system.
void DataProcess::trim_memory() {
  if (remote_.trims_due == 0) return;
  --remote_.trims_due;
  (void)::malloc_trim(0);
}

/// All regions of a window are one exposure: they have one owner.
std::uint64_t DataProcess::expose(ServedWindow& served) {
  if (served.exposure == 0 && served.window.bytes != 0)
    served.exposure =
        remote_.engine->expose(memory_.storage->base() + served.window.offset, served.window.bytes);
  return served.exposure;
}

/// Returns false if the memory, or its place in the storage file, cannot be cleared: nobody else gets it
/// then.
bool DataProcess::give_back(RetiredSegment& piece) noexcept {
  std::uint64_t const length = SegmentAllocator::footprint(piece.bytes);
  try {
    memory_.storage->clear(piece.offset, length);
    if (memory_.file && !piece.window.empty()) memory_.file->clear(piece.offset, length);
    memory_.free->give_back(piece.offset, piece.bytes);
    if (!piece.window.empty()) memory_.segments->remove(piece.window);
    return true;
  } catch (std::exception const& error) {
    if (!std::exchange(piece.is_stuck, true))
      log(Severity::error, std::string("the memory of an ended window stays reserved: ") + error.what());
    return false;
  }
}

void DataProcess::reclaim_retired() {
  auto const given_back = std::erase_if(
      retired_, [this](RetiredSegment& piece) { return !may_be_accessed(piece) && give_back(piece); });
  if (given_back != 0) report_usage_soon();
}

bool DataProcess::may_be_accessed(RetiredSegment const& piece) const noexcept {
  return is_mapped(piece) || (remote_.engine && !remote_.engine->is_unreachable(piece.withdrawn));
}

/// Waits briefly for clients to return the keys of ended windows: a running client does so at once. Memory
/// that a stopped client can reach is not given to others until it continues or ends.
void DataProcess::wait_for_retired(Window const& window) {
  auto const end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  auto const may_soon_end = [this](RetiredSegment const& piece) {
    return !is_mapped(piece) && !piece.is_stuck;
  };
  while (std::any_of(retired_.begin(), retired_.end(), may_soon_end) && !has_room_for(window) &&
         std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
    reclaim_retired();
  }
}

/// Returns the control memory through which the lock holder of the request locks: the system distinguishes
/// the locks of different open file descriptions.
SharedControl const& DataProcess::locks_of(SessionId id, Json const& request) {
  Session& session = sessions_.at(id);
  auto const holder = field<std::uint64_t>(request, "holder");
  auto const known = session.locks.find(holder);
  if (known != session.locks.end()) return known->second;
  if (session.locks.size() >= quotas_.windows)
    throw Error(ErrorCode::quota, "the session locks as many windows as the grant may have");
  shares_.descriptors.take(session.holder());
  try {
    return session.locks.emplace(holder, SharedControl::take_over(memory_.shared->reopen())).first->second;
  } catch (Error const&) {
    shares_.descriptors.give_back(session.holder());
    throw;
  }
}

/// Attempts once: a client that waits asks again. A lock that excludes others needs the right to write.
void DataProcess::try_lock(SessionId id, Json const& request) {
  bool const exclusive = field<bool>(request, "exclusive");
  ServedWindow const& served = window_for(id, request, exclusive ? WindowRights::write : WindowRights::none);
  auto const rank = field<std::uint32_t>(request, "rank");
  if (rank >= served.window.regions.size())
    throw Error(ErrorCode::bad_request, "the window has no such rank");
  auto const mode = exclusive ? engine::LockMode::exclusive : engine::LockMode::shared;
  // For an exclusive lock the client's "has_turn" is ignored: a client that lies would overtake others. A
  // repeated attempt finds the turn of its own session.
  bool has_turn = !exclusive && field<bool>(request, "has_turn");
  bool const taken = locks_of(id, request).try_lock(served.slot, rank, mode, &has_turn);
  sessions_.at(id).connection->post({{"taken", taken}, {"has_turn", has_turn}});
}

/// Works even if the window has ended meanwhile.
void DataProcess::unlock(SessionId id, Json const& request) {
  auto const slot = field<SharedControl::Slot>(request, "slot");
  auto const rank = field<std::uint16_t>(request, "rank");
  if (slot >= memory_.shared->slots()) throw Error(ErrorCode::bad_request, "there is no such window");
  locks_of(id, request).unlock(slot, rank);
  sessions_.at(id).connection->post(done);
}

void DataProcess::end_locks(SessionId id, Json const& request) {
  Session& session = sessions_.at(id);
  std::size_t const ended = session.locks.erase(field<std::uint64_t>(request, "holder"));
  shares_.descriptors.give_back(session.holder(), ended);
  session.connection->post(done);
}

}  // namespace mpixrma::nam
