/// Memory of ended processes of this host, still mapped into this process.
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/origin/remote_segments.hpp"

namespace mpixrma::engine {

/// Returns such memory to the system in a thread of its own, because gigabytes take seconds, and losses are
/// handled under a channel's lock. The thread ends when nothing is left to do.
class LostMemory {
 public:
  LostMemory() = default;
  ~LostMemory();
  LostMemory(LostMemory const&) = delete;
  LostMemory& operator=(LostMemory const&) = delete;

  using Regions = std::shared_ptr<RemoteSegments::MappedRegions>;

  /// Starts to release the memory of the regions. One thread at a time calls it.
  void release(Regions regions) noexcept;

 private:
  void run() noexcept;

  std::mutex lock_;  ///< never held while memory is released
  std::vector<Regions> waiting_;
  bool is_running_ = false;
  std::thread thread_;
};

}  // namespace mpixrma::engine
