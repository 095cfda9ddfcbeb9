/// A host between two others, which forwards their frames and can do anything to them.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/nam/attacks/middle/packet.hpp"
#include "tests/nam/network_host.hpp"

namespace mpixrma::nam {

/// This process's host has the server, another host has the jobs. Each of the two is linked only to the host
/// between them.
class Middleman {
 public:
  static constexpr char const* server_host = "10.98.0.1";
  static constexpr char const* job_host = "10.98.0.2";

  struct Sent {
    Packet packet;
    std::chrono::milliseconds delay{0};
  };
  /// Returns what is sent in place of a packet.
  using Meddle = std::function<std::vector<Sent>(Packet const& packet, bool from_job)>;

  /// Returns nullptr where the system does not permit hosts. Otherwise this process is on the server's host.
  static std::unique_ptr<Middleman> make();
  ~Middleman();
  Middleman(Middleman const&) = delete;
  Middleman& operator=(Middleman const&) = delete;

  NetworkHost const& jobs() const noexcept { return *jobs_; }
  /// Passes each packet to `meddle` from now on. An empty function lets all packets pass.
  void meddle(Meddle meddle);

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    Packet packet;
    int socket;
  };

  Middleman() = default;
  bool connect_hosts() const;
  void run(engine::FileDescriptor const& to_server, engine::FileDescriptor const& to_jobs);
  void take(engine::FileDescriptor const& from, engine::FileDescriptor const& to, bool from_job);
  int send_due();

  std::unique_ptr<NetworkHost> between_;
  std::unique_ptr<NetworkHost> jobs_;
  std::mutex mutex_;
  Meddle meddle_;
  std::multimap<Clock::time_point, Waiting> waiting_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

}  // namespace mpixrma::nam
