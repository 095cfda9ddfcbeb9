/// A peer's segments as they are mapped into this process. Only for peers on the same host. The peer's tables
/// are checked against its files: a wrong value cannot cause an access outside of the files.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/base/log.hpp"
#include "engine/base/shared_memory.hpp"
#include "engine/memory/process_control.hpp"
#include "engine/memory/published_tables.hpp"
#include "engine/op/exposure.hpp"
#include "engine/origin/exposed_view.hpp"
#include "engine/origin/page_prefaulter.hpp"
#include "engine/origin/peer.hpp"
#include "engine/origin/ring_use.hpp"
#include "engine/origin/staging_method.hpp"

namespace mpixrma::engine {

class RemoteSegments {
 public:
  /// Maps the tables of process `process` from its file descriptors `tables_fd` and `control_fd`. Returns
  /// false if the system does not permit it, or if another process has that pid now.
  bool open(std::uint64_t process, pid_t pid, int tables_fd, int control_fd, Log const& log = common_log);

  /// For this process itself: nothing is mapped, and addresses are used unchanged.
  void open_own(PublishedTables const& tables, ProcessControl& control);

  /// Regions in which a large segment is found from here on are watched by `prefaulter`, which must outlive
  /// their mappings.
  void set_prefaulter(PagePrefaulter& prefaulter) noexcept { prefaulter_ = &prefaulter; }

  /// Fills `out` with the live segment that contains `address`, mapped if its region can be mapped; false if
  /// there is none. `mapped`: loads and stores can access the segment.
  struct Found {
    RemoteAddress base = 0;
    std::size_t length = 0;
    std::int64_t delta = 0;
    bool mapped = false;
    std::uint32_t region = max_regions;  ///< slot of its region; max_regions or more: it has none
    std::atomic<std::uint64_t> const* owner_generation = nullptr;
    std::uint64_t generation = 0;
    bool internal = false;  ///< AllocationHints::internal
  };
  bool find(RemoteAddress address, Found* out);

  /// Calls `use` with the range of each live segment, in no order.
  template <typename Use>
  void list(Use const& use) const {
    // Acquire: as in in_region().
    std::uint32_t const end = std::min(tables_->segment_end.load(std::memory_order_acquire), max_segments);
    PublishedRange range;
    for (std::uint32_t slot = 0; slot < end; ++slot) {
      if (tables_->segments[slot].read(&range)) use(range);
    }
  }

  /// Reads an exposure of the peer; false if it does not exist.
  bool find(ExposureId id, Exposure* out) const noexcept;
  /// Maps an exposure. Returns stale_exposure; or, with only out->exposure set, out_of_memory if address
  /// space or descriptors are short, and unsupported if it cannot be accessed by load and store.
  Status view(ExposureId id, ExposedView* out);

  /// Whether [begin, end) overlaps the peer's regions, allocated or not.
  bool in_region(RemoteAddress begin, RemoteAddress end) const noexcept;

  /// Time after which a region that could not be mapped is tried again: descriptors or memory may have been
  /// short.
  static constexpr std::chrono::milliseconds retry_interval{100};

  struct MappedRegion {
    std::uint64_t generation = 0;
    std::uint64_t base = 0;
    Mapping mapping;
    PagePrefaulter::Watch watch;                       ///< ends before the mapping
    std::chrono::steady_clock::time_point retry_at{};  ///< after a failure
  };
  using MappedRegions = std::vector<MappedRegion>;  ///< by the owner's slot number

  /// Moves the mappings of regions that the owner has freed to `stale`, for the caller to unmap without
  /// the lock: unmapping takes long.
  void drop_stale(MappedRegions* stale);

  /// For an owner that has ended: no region is mapped or dropped any more. Returns the mapped regions, whose
  /// memory the caller releases without locks, because this takes long; the regions stay mapped for accesses
  /// in progress.
  std::shared_ptr<MappedRegions> abandon();

  std::size_t mapped_regions() const;
  StripeTable& stripes() const noexcept { return control_->stripes; }
  SharedLocks& locks() const noexcept { return control_->shared; }
  LockClock& lock_clock() const noexcept { return control_->lock_clock; }
  Ring& ring() const noexcept { return control_->ring; }
  RingUse& ring_use() noexcept { return ring_use_; }
  StagingMethodChooser& staging_method() noexcept { return staging_method_; }

 private:
  bool scan(RemoteAddress address, Found* out, MappedRegion* replaced);
  bool is_retry_due(Found const& found) const noexcept;
  bool read(ExposureId id, PublishedRange* out) const noexcept;
  bool map_region(std::uint32_t index, PublishedRange const& segment, std::int64_t* delta,
                  MappedRegion* replaced);
  void watch(MappedRegion& region, std::size_t segment_bytes);

  mutable std::mutex mutex_;
  PagePrefaulter* prefaulter_ = nullptr;
  Log const* log_ = &common_log;
  pid_t pid_ = 0;
  bool own_ = false;
  bool abandoned_ = false;
  Mapping tables_mapping_;
  PublishedTables const* tables_ = nullptr;
  Mapping control_mapping_;
  ProcessControl* control_ = nullptr;
  RingUse ring_use_;
  StagingMethodChooser staging_method_;
  std::shared_ptr<MappedRegions> regions_ = std::make_shared<MappedRegions>();
  std::map<RemoteAddress, Found> known_;  ///< found before; validated by generation
};

/// Stores a found and mapped segment in the cache of Peer::translate.
void remember(MappedSegment& slot, RemoteSegments::Found const& found) noexcept;

}  // namespace mpixrma::engine
