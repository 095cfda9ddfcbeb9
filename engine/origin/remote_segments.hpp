/// A peer's segments as they are mapped into this process. Only for peers on the same host. What a peer's
/// tables say is checked against the files that are there: a wrong value leads to no access outside of them.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "engine/base/log.hpp"
#include "engine/base/shared_memory.hpp"
#include "engine/memory/process_control.hpp"
#include "engine/memory/published_tables.hpp"
#include "engine/op/exposure.hpp"
#include "engine/origin/exposed_view.hpp"
#include "engine/origin/mail_use.hpp"
#include "engine/origin/peer.hpp"
#include "engine/origin/staging_pace.hpp"

namespace mpixrma::engine {

class RemoteSegments {
 public:
  /// Maps what process `process` with system identity `pid` shows, in the files that have these numbers
  /// there; false when the system does not let us, or something else runs under that pid by now.
  bool open(std::uint64_t process, pid_t pid, int tables_fd, int control_fd, Log const& log = common_log);

  /// For the own process: nothing to map, addresses are what they are.
  void open_own(PublishedTables const& tables, ProcessControl& control);

  /// Fills `out` with the live segment that holds `address`, mapped if its region can be; false when
  /// there is none. `delta_known` tells whether it can be reached by load and store.
  struct Found {
    RemoteAddress base = 0;
    std::size_t length = 0;
    std::int64_t delta = 0;
    bool mapped = false;
    std::atomic<std::uint64_t> const* owner_generation = nullptr;
    std::uint64_t generation = 0;
  };
  bool find(RemoteAddress address, Found* out);

  /// What the peer says of an exposure; false when it has none of this name.
  bool find(ExposureId id, Exposure* out) const noexcept;
  /// Maps it: stale_exposure, or unsupported where it cannot be reached by load and store.
  Status view(ExposureId id, ExposedView* out);

  /// Whether [begin, end) touches memory of the peer's regions, allocated or not.
  bool in_region(RemoteAddress begin, RemoteAddress end) const noexcept;

  /// Adds to `stale` the mappings of regions that the owner has given up. To unmap them takes long.
  void drop_stale(std::vector<Mapping>* stale);

  /// The owner has ended: its memory goes back to the system. Whoever is in the middle of an access ends it.
  void release_memory();

  std::size_t mapped_regions() const;
  StripeTable& stripes() const noexcept { return control_->stripes; }
  SharedLocks& locks() const noexcept { return control_->shared; }
  LockClock& lock_clock() const noexcept { return control_->lock_clock; }
  Mailbox& mailbox() const noexcept { return control_->mailbox; }
  MailUse& mailbox_use() noexcept { return mailbox_use_; }
  StagingPace& staging_pace() noexcept { return staging_pace_; }

 private:
  struct MappedRegion {
    std::uint64_t generation = 0;
    std::uint64_t base = 0;
    Mapping mapping;
  };

  bool scan(RemoteAddress address, Found* out, Mapping* replaced);
  bool read(ExposureId id, PublishedRange* out) const noexcept;
  bool map_region(std::uint32_t index, PublishedRange const& segment, std::int64_t* delta, Mapping* replaced);

  mutable std::mutex mutex_;
  Log const* log_ = &common_log;
  pid_t pid_ = 0;
  bool own_ = false;
  bool released_ = false;
  Mapping tables_mapping_;
  PublishedTables const* tables_ = nullptr;
  Mapping control_mapping_;
  ProcessControl* control_ = nullptr;
  MailUse mailbox_use_;
  StagingPace staging_pace_;
  std::vector<MappedRegion> regions_;     ///< by the owner's slot number
  std::map<RemoteAddress, Found> known_;  ///< found before; checked by generation
};

/// Stores a found and mapped segment where Peer::reach looks.
void remember(MappedSegment& slot, RemoteSegments::Found const& found) noexcept;

}  // namespace mpixrma::engine
