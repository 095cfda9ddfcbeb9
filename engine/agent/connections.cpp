#include "engine/agent/connections.hpp"

#include "engine/log.hpp"

namespace mpix::engine {

Location Connections::locate(ProcessAddress address) const {
  return {std::move(address.worker), address.host == host_, address.pid};
}

ucp_ep_h Connections::open(std::uint64_t process, Location const& location) {
  Connection& connection = by_process_[process];
  if (connection.lost) return nullptr;
  if (connection.endpoint == nullptr) {
    // UCX's shared memory does not notice the end of a process, and is not used when that is asked for.
    connection.endpoint = transport_.connect(location.worker, !location.same_machine);
    if (connection.endpoint == nullptr) {
      by_process_.erase(process);
      return nullptr;
    }
    by_endpoint_.emplace(connection.endpoint, process);
    if (location.same_machine) watch_.add(process, location.pid);
    log(LogLevel::paths, "endpoint to process %llx", static_cast<unsigned long long>(process));
  }
  return connection.endpoint;
}

void Connections::lose(ucp_ep_h endpoint, char const* reason) {
  if (auto const found = by_endpoint_.find(endpoint); found != by_endpoint_.end())
    lose(found->second, reason);
}

void Connections::lose(std::uint64_t process, char const* reason) {
  Connection& connection = by_process_[process];
  if (connection.lost) return;
  connection.lost = true;
  losses_.push_back({process, reason});
}

void Connections::close(std::uint64_t process) {
  auto const found = by_process_.find(process);
  if (found == by_process_.end()) return;
  if (ucp_ep_h const endpoint = found->second.endpoint; endpoint != nullptr) {
    by_endpoint_.erase(endpoint);
    transport_.disconnect(endpoint);
  }
  watch_.remove(process);
  by_process_.erase(found);
}

}  // namespace mpix::engine
