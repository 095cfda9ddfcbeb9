/// Closes the connections that were not used for longest, once there are more than the process is to have.
/// Under the channel's lock.
///
/// Only where nothing is under way in either direction, and in agreement: who asks sends nothing before it
/// has the answer, who agrees does not use the connection any more. Both go on with the positions of their
/// streams and with their credit on the next connection, which begins like the first. An end that UCX reports
/// meanwhile is the other side's closing, not its death.
#pragma once

#include <cstdint>
#include <span>

#include "engine/base/drops.hpp"
#include "engine/base/log.hpp"
#include "engine/net/connections.hpp"
#include "engine/net/transport.hpp"
#include "engine/proto/agent_path.hpp"
#include "engine/target/executor.hpp"

namespace mpixrma::engine {

class Parting {
 public:
  /// `limit`: connections that this process, `process`, is to have.
  Parting(Transport& transport, Connections& connections, AgentPath& agent_path, Executor& executor,
          std::uint64_t process, std::size_t limit, Log const& log)
      : transport_(transport),
        connections_(connections),
        agent_path_(agent_path),
        executor_(executor),
        process_(process),
        limit_(limit),
        log_(log) {}

  /// From UCX callbacks: only noted down.
  void on_farewell(std::span<std::byte const> header) noexcept;

  /// After each progress of the transport, before introductions are looked at.
  void drive() {
    if (connections_.has_farewells()) hear();
    if (is_crowded()) ask_now_and_then();
  }

  std::uint64_t dropped() const noexcept { return drops_.count(); }

  bool is_crowded() const noexcept { return connections_.size() > limit_; }

  /// Asks the other sides of connections that are idle and too many; returns how many there were.
  std::size_t ask_idle();

 private:
  void hear();
  void hear(Connections::NotedFarewell const& farewell, Connections::Connection& connection);
  void ask_now_and_then();
  void ask(std::uint64_t process);
  bool is_idle(std::uint64_t process, Connections::Connection const& connection) const;
  void part(std::uint64_t process);
  bool send(std::uint64_t process, Connections::Connection const& connection, wire::Farewell kind,
            std::uint64_t token);

  Transport& transport_;
  Connections& connections_;
  AgentPath& agent_path_;
  Executor& executor_;
  std::uint64_t process_;
  std::size_t limit_;
  Log const& log_;
  std::uint64_t newest_token_ = 0;
  unsigned turns_ = 0;  ///< until idle connections are looked for again
  unsigned pause_ = 1;
  Drops drops_{"farewell", log_};
};

}  // namespace mpixrma::engine
