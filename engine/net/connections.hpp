/// The connections of a channel: one to each process that it exchanges messages with, whichever side began.
/// Under the channel's lock.
#pragma once

#include <ucp/api/ucp.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/log.hpp"
#include "engine/base/process_watch.hpp"
#include "engine/net/address.hpp"
#include "engine/net/transport.hpp"

namespace mpixrma::engine {

class Connections {
 public:
  /// A connection that is no more, to be taken note of by both sides of the agent path and then closed.
  struct Loss {
    std::uint64_t process;
    std::string reason;
  };

  Connections(Transport& transport, ProcessWatch& watch, HostIdentity const& host, std::uint64_t process,
              Log const& log)
      : transport_(transport), watch_(watch), host_(host), process_(process), log_(log) {}

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

  /// Connections that may be used, without those whose end was asked for.
  std::size_t size() const noexcept { return by_endpoint_.size() - asked_; }
  /// Grows with every message, to tell which connection was used last.
  std::uint64_t note_use() noexcept { return ++uses_; }

  // How connections are closed that nobody needs now: see engine/target/parting.hpp.

  struct Connection {
    ucp_ep_h endpoint = nullptr;
    bool lost = false;
    std::uint64_t asked = 0;  ///< the other side was asked whether it may be closed, with this token; 0: no
  };
  bool knows(std::uint64_t process) const { return by_process_.contains(process); }
  /// The connection to `process` as long as it may be used, else nullptr.
  Connection* find(std::uint64_t process) noexcept;
  /// Calls `visit(process, connection)` for all that may be used.
  template <typename Visitor>
  void for_each(Visitor visit) const {
    for (auto const& [endpoint, process] : by_endpoint_) {
      if (Connection const& connection = by_process_.at(process); !connection.lost)
        visit(process, connection);
    }
  }
  /// The other side was asked with `token`, or, with 0, wants the connection to stay.
  void note_asked(Connection& connection, std::uint64_t token) noexcept;
  /// The connection is not used any more; both sides know. What was sent last still gets there.
  void part(std::uint64_t process);
  /// Takes up a farewell, from UCX callbacks. `idle`: this process wanted nothing of the other one when it
  /// arrived.
  void note_farewell(std::uint64_t process, wire::Farewell kind, std::uint64_t token, bool idle) {
    farewells_.push_back({process, kind, token, idle});
  }
  struct NotedFarewell {
    std::uint64_t process;
    wire::Farewell kind;
    std::uint64_t token;
    bool idle;
  };
  bool has_farewells() const noexcept { return !farewells_.empty(); }
  std::vector<NotedFarewell> take_farewells() { return std::exchange(farewells_, {}); }

 private:
  Transport& transport_;
  ProcessWatch& watch_;
  HostIdentity const& host_;
  std::uint64_t process_;
  Log const& log_;
  std::unordered_map<std::uint64_t, Connection> by_process_;
  std::unordered_map<ucp_ep_h, std::uint64_t> by_endpoint_;
  std::vector<Loss> losses_;
  std::vector<NotedFarewell> farewells_;
  std::size_t asked_ = 0;  ///< connections with Connection::asked
  std::uint64_t uses_ = 0;
};

}  // namespace mpixrma::engine
