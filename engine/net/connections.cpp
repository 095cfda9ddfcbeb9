#include "engine/net/connections.hpp"

#include <new>

#include "engine/base/liveness.hpp"
#include "engine/base/shared_memory.hpp"

namespace mpixrma::engine {

Location Connections::locate(ProcessAddress address) const {
  std::size_t const worker = worker_for(process_, address.workers.size());
  // An engine with an empty host identity uses the network for all connections.
  bool const same_host = address.host == host_ && host_ != HostIdentity{};
  return {std::move(address.workers[worker]), address.is_deferred, same_host, address.pid};
}

/// Reserves memory for the loss of a new connection: UCX's callbacks, which must not throw, record losses.
Connections::Connection& Connections::connection_with(std::uint64_t process) {
  if (auto const known = by_process_.find(process); known != by_process_.end()) return known->second;
  std::size_t const connections = by_process_.size() + 1;
  if (losses_.capacity() < connections) losses_.reserve(2 * connections);
  return by_process_[process];
}

ucp_ep_h Connections::open(std::uint64_t process, Location const& location) {
  Connection& connection = connection_with(process);
  if (connection.lost) return nullptr;
  if (connection.endpoint == nullptr) {
    // UCX's shared memory does not detect the end of a process, so UCX disables it if failure detection is
    // requested.
    auto const detection =
        location.same_host ? Transport::FailureDetection::none : Transport::FailureDetection::reported;
    ucp_ep_h endpoint = nullptr;
    if (Status const status = transport_.connect(location.worker, detection, &endpoint); failed(status)) {
      note_failed_connection(process, location, status);
      return nullptr;
    }
    connection.endpoint = endpoint;
    by_endpoint_.emplace(connection.endpoint, process);
    if (location.same_host) watch_.add(process, location.pid);
    log_.write(LogLevel::peers, "endpoint to process %s", log_.name(process).c_str());
  }
  return connection.endpoint;
}

/// A process that has ended gets no second attempt: each would fail with a line of UCX, and UCX 1.13 does not
/// close the socket of a refused one. A process of another host that refuses the connection has ended.
void Connections::note_failed_connection(std::uint64_t process, Location const& location, Status status) {
  bool const refused = status == Status::unreachable && !descriptors_run_short();
  bool const ended = location.same_host ? !process_is_alive(location.pid) : refused;
  if (ended) return fail(process, "it does not accept the connection");
  if (status == Status::unreachable)
    log_.write(LogLevel::error, "UCX cannot reach process %s", log_.name(process).c_str());
  by_process_.erase(process);
}

void Connections::fail(ucp_ep_h endpoint, char const* reason) {
  auto const found = by_endpoint_.find(endpoint);
  if (found == by_endpoint_.end()) return;
  std::uint64_t const process = found->second;
  if (!by_process_[process].disconnecting) return fail(process, reason);
  // A disconnecting connection is idle. If the process has ended, the next connection to it detects that.
  try {
    queue_disconnect({.process = process,
                      .kind = wire::Disconnect::accept,
                      .connection = number_of(process),
                      .idle = true});
  } catch (std::bad_alloc const&) {
    fail(process, reason);
  }
}

void Connections::fail(std::uint64_t process, char const* reason) { note_loss({process, reason}); }

void Connections::mark_unreachable_by_messages(std::uint64_t process, char const* reason) {
  note_loss({.process = process, .reason = reason, .messages_only = true});
}

void Connections::fail_replies(std::uint64_t process, char const* reason) {
  note_loss({.process = process, .reason = reason, .messages_only = true, .awaits_replies = true});
}

void Connections::reject(std::uint64_t process, char const* reason) { note_loss({process, reason, true}); }

void Connections::note_loss(Loss const& loss) {
  Connection& connection = connection_with(loss.process);
  if (connection.lost) return;
  losses_.push_back(loss);
  connection.lost = true;
}

Connections::Loss Connections::take_loss() {
  Loss const loss = losses_.back();
  losses_.pop_back();
  return loss;
}

void Connections::close(std::uint64_t process) {
  auto const found = by_process_.find(process);
  if (found == by_process_.end()) return;
  note_disconnect_ended(found->second);
  if (ucp_ep_h const endpoint = found->second.endpoint; endpoint != nullptr) {
    by_endpoint_.erase(endpoint);
    transport_.disconnect(endpoint);
  }
  watch_.remove(process);
  by_process_.erase(found);
  closed_.erase(process);
}

Connections::Connection* Connections::find(std::uint64_t process) noexcept {
  auto const found = by_process_.find(process);
  bool const usable = found != by_process_.end() && found->second.endpoint != nullptr && !found->second.lost;
  return usable ? &found->second : nullptr;
}

Connections::Connection const* Connections::find_open(std::uint64_t process) const noexcept {
  auto const found = by_process_.find(process);
  return found != by_process_.end() && found->second.endpoint != nullptr ? &found->second : nullptr;
}

std::uint64_t Connections::number_of(std::uint64_t process) const noexcept {
  auto const found = closed_.find(process);
  return found != closed_.end() ? found->second + 1 : 1;
}

void Connections::note_disconnect_requested(Connection& connection) noexcept {
  if (!std::exchange(connection.disconnecting, true)) ++disconnecting_;
}

void Connections::note_disconnect_ended(Connection& connection) noexcept {
  if (std::exchange(connection.disconnecting, false)) --disconnecting_;
}

void Connections::flush_and_close(std::uint64_t process) {
  ++closed_[process];
  note_disconnect_ended(by_process_.at(process));
  ucp_ep_h const endpoint = by_process_.at(process).endpoint;
  by_endpoint_.erase(endpoint);
  by_process_.erase(process);
  log_.write(LogLevel::peers, "disconnected from process %s", log_.name(process).c_str());
  transport_.flush_and_close(endpoint);
}

}  // namespace mpixrma::engine
