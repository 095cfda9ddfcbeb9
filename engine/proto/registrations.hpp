/// Registrations of this process's segments with the network, made when a peer first asks for a key.
#pragma once

#include <ucp/api/ucp.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/base/log.hpp"
#include "engine/base/status.hpp"
#include "engine/memory/segment_table.hpp"
#include "engine/net/ucx_context.hpp"

namespace mpixrma::engine {

/// A thread of its own registers and deregisters, because this takes seconds for gigabytes and peers request
/// keys under a channel's lock. Peers use messages until the key exists. Thread-safe.
class Registrations {
 public:
  Registrations(UcxContext const& context, Log const& log) : context_(context), log_(log) {}
  ~Registrations() { stop(); }
  Registrations(Registrations const&) = delete;
  Registrations& operator=(Registrations const&) = delete;

  /// Starts the thread. The thread calls `announce`, without a lock, after it has made a key.
  Status start(std::function<void()> announce);
  /// Ends the thread and all registrations. The caller must not hold a lock that `announce` takes.
  void stop() noexcept;

  /// Returns the key of the segment, empty if it does not exist yet. The first call requests it from the
  /// thread.
  std::vector<std::byte> key_of(OwnSegment const& segment);
  /// Whether a peer has requested the key of the segment, and the network has not refused the registration.
  bool has(OwnSegment const& segment) const {
    std::lock_guard const held(lock_);
    return registered_.contains(segment.generation);
  }
  /// Requests the end of the registration from the thread. Returns false until it has ended; call again until
  /// then.
  bool remove(OwnSegment const& segment) noexcept;

 private:
  enum class RegistrationState : std::uint8_t { wanted, in_progress, registered, unwanted };
  struct Registration {
    OwnSegment segment;
    RegistrationState state = RegistrationState::wanted;
    ucp_mem_h memory = nullptr;
    std::vector<std::byte> key{};
  };
  using Registered = std::map<std::uint64_t, Registration>;

  void run();
  Registered::iterator next_task() noexcept;
  void make(Registered::iterator task, std::unique_lock<std::mutex>& held);
  void end(Registered::iterator task, std::unique_lock<std::mutex>& held) noexcept;
  Registration make(OwnSegment const& segment) const;
  std::vector<std::byte> pack(ucp_mem_h memory) const;

  UcxContext const& context_;
  Log const& log_;
  std::function<void()> announce_;
  std::thread thread_;
  mutable std::mutex lock_;  ///< never held during a call that registers
  std::condition_variable wake_;
  bool stopping_ = false;
  Registered registered_;  ///< by the segment's generation; only the thread erases those beyond `wanted`
};

}  // namespace mpixrma::engine
