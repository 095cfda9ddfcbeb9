/// The connections of a channel: one to each process that it exchanges messages with, whichever side began.
/// Under the channel's lock.
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/agent/process_watch.hpp"
#include "engine/agent/transport.hpp"
#include "engine/peer/address.hpp"

namespace mpix::engine {

class Connections {
 public:
  /// A connection that is no more, to be taken note of by both sides of the agent path and then closed.
  struct Loss {
    std::uint64_t process;
    std::string reason;
  };

  Connections(Transport& transport, ProcessWatch& watch, HostIdentity const& host)
      : transport_(transport), watch_(watch), host_(host) {}

  /// Where the process with this address is from here.
  Location locate(ProcessAddress address) const;

  /// The endpoint to the process at this place, made at first use. nullptr: it cannot be reached, or the
  /// connection to it was lost and not closed yet.
  ucp_ep_h open(std::uint64_t process, Location const& location);

  /// The process behind `endpoint` is out of reach. From any place, UCX callbacks included: only noted down.
  void lose(ucp_ep_h endpoint, char const* reason);
  /// The process has ended.
  void lose(std::uint64_t process, char const* reason);

  bool has_losses() const noexcept { return !losses_.empty(); }
  std::vector<Loss> take_losses() { return std::exchange(losses_, {}); }

  /// Closes the connection to `process`, whatever is under way on it. Not from UCX callbacks.
  void close(std::uint64_t process);

  std::size_t size() const noexcept { return by_process_.size(); }

 private:
  struct Connection {
    ucp_ep_h endpoint = nullptr;
    bool lost = false;
  };

  Transport& transport_;
  ProcessWatch& watch_;
  HostIdentity const& host_;
  std::unordered_map<std::uint64_t, Connection> by_process_;
  std::unordered_map<ucp_ep_h, std::uint64_t> by_endpoint_;
  std::vector<Loss> losses_;
};

}  // namespace mpix::engine
