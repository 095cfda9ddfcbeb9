/// A memory server for the life of this process, with one grant, where the job has none of its own.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>

#include "nam/client/client.hpp"

namespace mpix::nam {

/// It ends with the object, and with the process, however that ends.
class PrivateServer {
 public:
  /// Error(unavailable): mpix-namd is not found, or does not start.
  explicit PrivateServer(std::uint64_t bytes);
  ~PrivateServer();
  PrivateServer(PrivateServer const&) = delete;
  PrivateServer& operator=(PrivateServer const&) = delete;

  Locator const& grant() const noexcept { return grant_; }

 private:
  void start(std::uint64_t bytes, FileDescriptor const& held);
  void await();
  bool has_ended(int within_ms);
  void end();

  pid_t owner_;  ///< children made by fork() have nothing to do with it
  pid_t pid_ = -1;
  std::filesystem::path directory_;
  FileDescriptor life_;  ///< the server ends when it is closed
  Locator grant_;
};

}  // namespace mpix::nam
