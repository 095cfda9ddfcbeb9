/// A rank of a window as the target of operations. Made at its first use.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/engine.hpp"
#include "engine/exposure.hpp"
#include "engine/peer/exposed_view.hpp"
#include "engine/peer/message_mark.hpp"

namespace mpix::windows {

/// Whether operations may be issued: from the first one of an access epoch, or a lock, to its end.
enum class Access : std::uint8_t { closed, opening, open };

/// What this process holds of the lock of a target.
enum class Lock : std::uint8_t { none, unchecked, held };

struct Target {
  std::atomic<Access> access{Access::closed};
  /// By displacement; of a dynamic window 1.
  std::int32_t disp_unit = 1;
  int rank = 0;
  /// Its memory, where loads and stores reach it; else of length 0.
  engine::ExposedView view;
  engine::StripeTable* stripes = nullptr;  ///< of that memory; null where it cannot be reached so
  engine::Peer* memory = nullptr;          ///< the process that has the memory: all operations go there
  /// Newest message of the window to `memory`.
  engine::MessageMark outstanding;

  engine::ExposureId exposure{};
  std::uint64_t offset = 0;         ///< in the exposure
  std::uint64_t size = 0;           ///< bytes
  engine::Peer* process = nullptr;  ///< of the rank: its locks and its counters
  std::byte* control = nullptr;     ///< its control memory where it is mapped, else null
  engine::RemoteAddress control_address = 0;
  std::uint32_t lock_id = 0;
  Lock lock = Lock::none;  ///< under the window's lock, as the rest
  bool in_group = false;   ///< of the present access epoch, begun by MPI_Win_start
  std::uint8_t posts_seen = 0;
  std::size_t place = 0;  ///< among the open targets
};

}  // namespace mpix::windows
