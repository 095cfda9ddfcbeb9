/// A memory server for the life of this process, with one grant, where the job has none of its own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "nam/client/client.hpp"

namespace mpixrma::nam {

/// It ends with the object, and with the process, however that ends.
class PrivateServer {
 public:
  /// How processes of other hosts reach it.
  struct Network {
    std::string host;        ///< an address of this one
    std::string interfaces;  ///< as of mpix-namd
    std::string rdma;        ///< likewise
    bool encrypt = false;    ///< likewise; not with rdma
  };

  /// Without a network it serves this host alone. Error(unavailable): mpix-namd is not found, or does not
  /// start.
  explicit PrivateServer(std::uint64_t bytes, std::optional<Network> const& network = std::nullopt);
  ~PrivateServer();
  PrivateServer(PrivateServer const&) = delete;
  PrivateServer& operator=(PrivateServer const&) = delete;

  Locator const& grant() const noexcept { return grant_; }

 private:
  void start(std::uint64_t bytes, std::optional<Network> const& network, FileDescriptor const& held);
  void await();
  /// `from_elsewhere`: also for processes of other hosts, which are told a secret.
  void open_grant(std::uint64_t bytes, bool from_elsewhere);
  bool has_ended(int within_ms);
  void end();

  pid_t owner_;  ///< children made by fork() have nothing to do with it
  pid_t pid_ = -1;
  std::filesystem::path directory_;
  FileDescriptor life_;  ///< the server ends when it is closed
  Locator grant_;
};

}  // namespace mpixrma::nam
