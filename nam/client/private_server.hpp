/// A private memory server with one grant, for a job that has no server.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "nam/client/client.hpp"

namespace mpixrma::nam {

/// The server ends with the object, at the latest with the process.
class PrivateServer {
 public:
  /// Configuration of access from other hosts.
  struct Network {
    std::string host;        ///< an address of this host
    std::string interfaces;  ///< as the option of mpix-namd
    std::string rdma;        ///< as the option of mpix-namd
    bool encrypt = false;    ///< as the option of mpix-namd; excludes rdma
  };

  /// Without a network the server accepts only processes of this host. Throws Error(unavailable) if mpix-namd
  /// is not found or does not start.
  explicit PrivateServer(std::uint64_t bytes, std::optional<Network> const& network = std::nullopt);
  ~PrivateServer();
  PrivateServer(PrivateServer const&) = delete;
  PrivateServer& operator=(PrivateServer const&) = delete;

  Locator const& grant() const noexcept { return grant_; }
  /// The server ends when all processes have closed this pipe.
  int liveness_pipe() const noexcept { return liveness_pipe_.get(); }

 private:
  void start(std::uint64_t bytes, std::optional<Network> const& network, FileDescriptor const& held);
  void await();
  /// With `network`, also creates a secret for processes of other hosts.
  void open_grant(std::uint64_t bytes, std::optional<Network> const& network);
  bool has_ended(int within_ms);
  void end();

  pid_t owner_;  ///< children made by fork() must not end the server
  pid_t pid_ = -1;
  std::uint64_t started_ = 0;  ///< start time of the process: later, another one may have its pid
  std::filesystem::path directory_;
  FileDescriptor liveness_pipe_;
  Locator grant_;
};

}  // namespace mpixrma::nam
