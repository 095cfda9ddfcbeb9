/// The segments of this process: memory that it allocates for communication, and user memory that it has
/// registered. Owns the tables that peers read. Not thread-safe: read under the lock of any channel, changed
/// under the locks of all channels.
///
/// Segments do not overlap, but registrations may: overlapping registrations of user memory form one segment,
/// and a registration within allocated memory is only recorded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "engine/base/log.hpp"
#include "engine/base/shared_memory.hpp"
#include "engine/base/status.hpp"
#include "engine/memory/allocation_hints.hpp"
#include "engine/memory/commit.hpp"
#include "engine/memory/coverage.hpp"
#include "engine/memory/exposure_table.hpp"
#include "engine/memory/heap.hpp"
#include "engine/memory/idle_memory.hpp"
#include "engine/memory/page_ranges.hpp"
#include "engine/memory/process_control.hpp"
#include "engine/memory/published_tables.hpp"
#include "engine/memory/registrar.hpp"
#include "engine/op/operation.hpp"

namespace mpixrma::engine {

/// One segment of this process.
struct OwnSegment {
  RemoteAddress base = 0;
  std::size_t length = 0;
  std::uint32_t slot = 0;
  std::uint32_t region = no_region;
  std::uint64_t generation = 0;  ///< generation of its slot; unique among all segments of this process
  bool hidden = false;           ///< being freed: see SegmentTable::hide
  bool committed = false;        ///< not user memory; all its pages were allocated in advance
  bool internal = false;         ///< AllocationHints::internal

  /// The application may unmap user memory at any time, but not memory of the regions.
  bool user_memory() const noexcept { return region == no_region; }
  bool contains(RemoteAddress address, std::size_t bytes) const noexcept {
    return address >= base && address - base <= length && bytes <= length - (address - base);
  }
};

class SegmentTable {
  struct Region {
    FileDescriptor fd;
    Mapping mapping;
    FreeRanges free_ranges{0};
    PageRanges idle;          ///< resident pages of the free ranges
    bool huge_pages = false;  ///< huge pages were requested
    bool set_aside = false;   ///< its huge pages were reserved when it was mapped
    bool is_fixed = false;    ///< at a requested address, for one allocation
  };

 public:
  explicit SegmentTable(Log const& log = common_log) : log_(log) {}
  /// Memory that was not freed stays mapped, because the program may still use it after MPI_Finalize.
  ~SegmentTable();
  SegmentTable(SegmentTable const&) = delete;
  SegmentTable& operator=(SegmentTable const&) = delete;

  /// Sets the NUMA node of all memory that is taken from the system after this call; none: the node of the
  /// thread that touches a page first.
  void set_node(std::optional<unsigned> node) noexcept { node_ = node; }

  /// `region_bytes`: granularity of memory taken from the system; `idle_bytes`: maximum of freed memory to
  /// keep; `stripes` replaces its own stripes if not null.
  Status open(std::uint64_t process, std::size_t region_bytes, std::size_t idle_bytes = 0,
              StripeTable* stripes = nullptr);

  /// Memory to be returned to the system. Returning it takes as long as allocating its pages, and needs no
  /// lock: call release() without the lock, then recycle() with it. The destructor unmaps the regions.
  class Garbage {
   public:
    bool empty() const noexcept { return parts_.empty() && regions_.empty(); }
    /// Returns the pages to the system. No other thread uses them: their range is still allocated.
    void release() const noexcept;

   private:
    friend class SegmentTable;
    struct Part {
      Region const* region;
      std::uint32_t index;  ///< index of the region
      std::size_t offset;
      std::size_t bytes;
    };
    std::vector<Part> parts_;
    std::vector<std::unique_ptr<Region>> regions_;  ///< regions that are no longer used
  };
  /// Makes the memory available for allocation, after release().
  void recycle(Garbage& garbage);

  /// An allocation in three steps: reserve(); commit(), which may take long and is called without the lock;
  /// then publish() or, if either has failed, cancel(). commit() may be skipped for a reservation with
  /// `uncommitted` null.
  struct Reservation {
    OwnSegment segment;  ///< without a slot so far
    Region const* uncommitted = nullptr;
    std::vector<PageRanges::Range> missing{};  ///< pages of that region to be allocated
  };
  Status reserve(std::size_t bytes, AllocationHints const& hints, Reservation* out);
  Status commit(Reservation const& reservation) noexcept;
  Status publish(Reservation const& reservation, void** base);
  void cancel(Reservation const& reservation, Garbage* garbage);
  /// Moves all kept freed memory to `garbage`. Returns false if there was none.
  bool drop_idle(Garbage* garbage);

  /// The first step of free() for callers that must wait between the steps: hides the allocation at `base`
  /// from peers and find(), and leaves its memory unchanged. Exposures within it are withdrawn and added to
  /// `withdrawn`. bad_argument: no such allocation.
  Status hide(void const* base, std::vector<ExposureId>* withdrawn);
  /// The second step. Ends the registrations within the memory.
  Status free(void const* base, Garbage* garbage);

  /// Registers memory that the caller has found to be mapped. Unless it lies within one segment, the segments
  /// that it overlaps become part of a larger one and are added to `replaced`. bad_argument: empty, or not
  /// within one allocation although it overlaps the regions; out_of_memory: no slot is free.
  Status attach(void* base, std::size_t bytes, Registrar registrar, std::vector<OwnSegment>* replaced);
  /// Ends the newest registration of `bytes` bytes at `base` by `registrar`, of any length if 0. If the
  /// segment that it was part of changes, the old segment is added to `replaced`. `ended` receives the range
  /// of the registration. bad_argument: no such registration.
  Status detach(void const* base, std::size_t bytes, Registrar registrar, std::vector<OwnSegment>* replaced,
                Coverage::Range* ended);

  /// Assigns new generations to the segments of user memory with these generations, so that peers drop the
  /// old segments, which are added to `replaced`.
  void renew(std::set<std::uint64_t> const& generations, std::vector<OwnSegment>* replaced);

  /// Lets peers access memory, which must be allocated or registered and stay so until the exposure is
  /// withdrawn. bad_argument: not within one segment; out_of_memory.
  Status expose(Exposure const& exposure, ExposureId* id);
  UnusedExposureIds unused_exposure_ids() const noexcept {
    return {exposures_.first_unused_slot(), generation_};
  }
  /// As EngineExposures::change_id.
  Status change_id(ExposureId from, ExposureId to);
  /// Withdraws the exposure; its memory stays registered. stale_exposure: it does not exist.
  Status withdraw(ExposureId id, Exposure* withdrawn);
  ExposureTable const& exposures() const noexcept { return exposures_; }

  /// Returns the segment that contains `address`, or nullptr; never a hidden segment.
  OwnSegment const* find(RemoteAddress address) const;
  /// The range [begin, end) around an `address` that belongs to no segment.
  struct Gap {
    RemoteAddress begin;
    RemoteAddress end;
  };
  Gap gap_around(RemoteAddress address) const;
  /// Returns the segment that starts at `base`, hidden or not, or nullptr.
  OwnSegment const* at(void const* base) const;

  /// Whether [address, address + bytes) overlaps the regions, allocated or not.
  bool in_region(RemoteAddress address, std::size_t bytes) const;

  /// Changes whenever segments are added or removed, or a key that was requested earlier has been made.
  std::uint32_t version() const noexcept { return version_; }
  void announce_key() noexcept { ++version_; }

  PublishedTables const& tables() const noexcept { return *tables_; }
  ProcessControl& control() const noexcept { return *control_; }
  StripeTable& stripes() const noexcept { return *stripes_; }
  /// The files that contain tables() and control().
  int tables_fd() const noexcept { return tables_fd_.get(); }
  int control_fd() const noexcept { return control_fd_.get(); }

 private:
  Status map_region(std::size_t bytes, AllocationHints const& hints, bool huge_pages, Region* region);
  Status add_region(std::size_t bytes, AllocationHints const& hints, bool huge_pages, std::uint32_t* index);
  static std::optional<std::size_t> take_from(Region& region, std::size_t bytes, std::size_t alignment);
  void remove_region(std::uint32_t index, Garbage* garbage);
  void remove_if_unused(std::uint32_t index, Garbage* garbage);
  std::size_t idle_bytes() const noexcept;
  bool may_keep(std::size_t bytes, Garbage* garbage);
  using Segments = std::map<RemoteAddress, OwnSegment>;
  struct Registration {
    std::size_t length;
    bool allocated;  ///< within an allocation
    Registrar registrar;
  };

  bool has_free_slot() const noexcept;
  Status publish(RemoteAddress base, std::size_t length, std::uint32_t region, bool internal = false);
  void invalidate(OwnSegment& segment);
  void remove(Segments::iterator it);
  Segments::iterator first_after(RemoteAddress address);
  void cover(Coverage::Range range, std::vector<OwnSegment>* replaced);
  void uncover(Coverage::Range range, std::vector<OwnSegment>* replaced);
  void return_memory(OwnSegment const& segment, Garbage* garbage);
  void place(Mapping const& mapping) const noexcept;

  Log const& log_;
  std::optional<unsigned> node_;
  CommitCredit credit_;
  IdleMemory idle_;
  std::size_t region_bytes_ = 0;
  FileDescriptor tables_fd_;
  Mapping tables_mapping_;
  PublishedTables* tables_ = nullptr;  ///< written only; values that are read back are stored below
  FileDescriptor control_fd_;
  Mapping control_mapping_;
  ProcessControl* control_ = nullptr;
  StripeTable* stripes_ = nullptr;
  std::vector<std::unique_ptr<Region>> regions_;   ///< by slot number; empty if unused
  std::vector<std::uint64_t> region_generations_;  ///< by slot number
  SegmentIndexWriter index_;
  std::vector<std::uint32_t> free_slots_;
  std::uint32_t segment_end_ = 0;  ///< all slots from here on are unused
  std::uint64_t generation_ = 1;   ///< of the newest segment or exposure; odd
  std::uint32_t version_ = 1;
  Segments segments_;                                         ///< by base
  std::multimap<RemoteAddress, Registration> registrations_;  ///< by base, the newest last
  ExposureTable exposures_;
  Coverage user_memory_;  ///< its registrations
};

}  // namespace mpixrma::engine
