/// The segments of this process: memory that it allocates for communication and user memory that it
/// has registered. Owns what peers see of them. Not thread-safe: looked at with the lock of any channel,
/// changed with those of all.
///
/// Segments do not overlap, registrations may: those of user memory that overlap form one segment, and one
/// within allocated memory is no more than a note that it is there.
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
#include "engine/op/operation.hpp"

namespace mpixrma::engine {

/// One segment of this process.
struct OwnSegment {
  RemoteAddress base = 0;
  std::size_t length = 0;
  std::uint32_t slot = 0;
  std::uint32_t region = no_region;
  std::uint64_t generation = 0;  ///< of its slot; no other segment of this process ever has the same
  bool hidden = false;           ///< on its way out: see SegmentTable::hide
  bool committed = false;        ///< of our regions: all its pages were taken when it was made

  /// User memory may be unmapped behind the engine's back; memory of our regions may not.
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
    PageRanges idle;          ///< of the free ranges: pages that are taken
    bool huge_pages = false;  ///< asked for
    bool set_aside = false;   ///< its memory cannot be used by others
  };

 public:
  explicit SegmentTable(Log const& log = common_log) : log_(log) {}

  /// `region_bytes`: granularity of memory taken from the system; `idle_bytes`: what is kept of it at most
  /// when it was freed; `stripes`: in the place of its own, if not null.
  Status open(std::uint64_t process, std::size_t region_bytes, std::size_t idle_bytes = 0,
              StripeTable* stripes = nullptr);

  /// Memory on its way back to the system. That takes as long as to make its pages, and needs no lock: first
  /// release(), without the lock, then recycle(), with it. What is destroyed with this object are mappings.
  class Garbage {
   public:
    bool empty() const noexcept { return parts_.empty() && regions_.empty(); }
    /// Gives the pages back. No other thread uses them: their range is still taken.
    void release() const noexcept;

   private:
    friend class SegmentTable;
    struct Part {
      Region const* region;
      std::uint32_t index;  ///< of the region
      std::size_t offset;
      std::size_t bytes;
    };
    std::vector<Part> parts_;
    std::vector<std::unique_ptr<Region>> regions_;  ///< that nobody uses any more
  };
  /// Others may allocate the memory again. After release().
  void recycle(Garbage& garbage);

  /// An allocation in three steps: reserve(); commit(), which may take long and is called without the lock;
  /// then publish() or, when either has failed, cancel(). Of a reservation with `uncommitted` null the second
  /// can be left out.
  struct Reservation {
    OwnSegment segment;  ///< without a slot so far
    Region const* uncommitted = nullptr;
    std::vector<PageRanges::Range> missing{};  ///< pages of that region that are to be taken
  };
  Status reserve(std::size_t bytes, AllocationHints const& hints, Reservation* out);
  Status commit(Reservation const& reservation) noexcept;
  Status publish(Reservation const& reservation, void** base);
  void cancel(Reservation const& reservation, Garbage* garbage);
  /// Adds to `garbage` what is kept of freed memory. False: there was nothing.
  bool drop_idle(Garbage* garbage);

  /// First step of free() for who has to wait between the two: peers and find() see the allocation at `base`
  /// no more, and its memory stays as it is. Exposures within it are withdrawn, and added to `concealed`.
  /// bad_argument: there is none.
  Status hide(void const* base, std::vector<ExposureId>* concealed);
  /// Second step. Registrations within the memory end with it.
  Status free(void const* base, Garbage* garbage);

  /// Registers memory that the caller has found to be mapped. Segments that it overlaps, and does not lie
  /// within, become part of a larger one: they are added to `replaced`. bad_argument: empty, or partly in
  /// memory of our regions that is not one allocation.
  Status attach(void* base, std::size_t bytes, std::vector<OwnSegment>* replaced);
  /// Ends the newest registration of `bytes` bytes at `base`, of any length with 0. The segment of which it
  /// was a part is added to `replaced` when it is not any more. `ended`: where the registration was.
  Status detach(void const* base, std::size_t bytes, std::vector<OwnSegment>* replaced,
                Coverage::Range* ended);

  /// Gives segments of user memory with these numbers new ones, so that peers know them no more; adds what
  /// they were to `replaced`.
  void renew(std::set<std::uint64_t> const& generations, std::vector<OwnSegment>* replaced);

  /// Lets peers use memory, which has to be registered, and stays so until the exposure is concealed.
  /// bad_argument: it is not; out_of_memory.
  Status expose(Exposure const& exposure, ExposureId* id);
  UnusedNames unused_names() const noexcept { return {exposures_.first_unused_slot(), generation_}; }
  /// As Engine::rename.
  Status rename(ExposureId from, ExposureId to);
  /// Peers find the exposure no more; its memory is still registered. stale_exposure: there is none.
  Status conceal(ExposureId id, Exposure* concealed);
  ExposureTable const& exposures() const noexcept { return exposures_; }

  /// The segment that holds `address`, or nullptr; none that is hidden.
  OwnSegment const* find(RemoteAddress address) const;
  /// The addresses around `address`, where no segment stands, that no segment takes: [begin, end).
  struct Gap {
    RemoteAddress begin;
    RemoteAddress end;
  };
  Gap gap_around(RemoteAddress address) const;
  /// The segment that starts at `base`, hidden or not, or nullptr.
  OwnSegment const* at(void const* base) const;

  /// Whether [address, address + bytes) touches memory of our regions, allocated or not.
  bool in_region(RemoteAddress address, std::size_t bytes) const;

  /// Changes whenever segments come or go.
  std::uint32_t version() const noexcept { return version_; }

  PublishedTables const& tables() const noexcept { return *tables_; }
  ProcessControl& control() const noexcept { return *control_; }
  StripeTable& stripes() const noexcept { return *stripes_; }
  /// The files in which these two stand.
  int tables_fd() const noexcept { return tables_fd_.get(); }
  int control_fd() const noexcept { return control_fd_.get(); }

 private:
  Status add_region(std::size_t bytes, bool asked, bool huge_pages, std::uint32_t* index);
  static std::optional<std::size_t> take_from(Region& region, std::size_t bytes, std::size_t alignment);
  void remove_region(std::uint32_t index, Garbage* garbage);
  void remove_if_unused(std::uint32_t index, Garbage* garbage);
  std::size_t idle_bytes() const noexcept;
  bool may_keep(std::size_t bytes, Garbage* garbage);
  using Segments = std::map<RemoteAddress, OwnSegment>;
  struct Registration {
    std::size_t length;
    bool allocated;  ///< within an allocation
  };

  bool has_free_slot() const noexcept;
  Status publish(RemoteAddress base, std::size_t length, std::uint32_t region);
  void withdraw(OwnSegment& segment);
  void remove(Segments::iterator it);
  Segments::iterator first_after(RemoteAddress address);
  void cover(Coverage::Range range, std::vector<OwnSegment>* replaced);
  void uncover(Coverage::Range range, std::vector<OwnSegment>* replaced);
  void return_memory(OwnSegment const& segment, Garbage* garbage);

  Log const& log_;
  CommitCredit credit_;
  IdleMemory idle_;
  std::size_t region_bytes_ = 0;
  FileDescriptor tables_fd_;
  Mapping tables_mapping_;
  PublishedTables* tables_ = nullptr;  ///< written only: what is read back stands below
  FileDescriptor control_fd_;
  Mapping control_mapping_;
  ProcessControl* control_ = nullptr;
  StripeTable* stripes_ = nullptr;
  std::vector<std::unique_ptr<Region>> regions_;   ///< by slot number; empty where unused
  std::vector<std::uint64_t> region_generations_;  ///< likewise
  SegmentIndexWriter index_;
  std::vector<std::uint32_t> free_slots_;
  std::uint32_t segment_end_ = 0;  ///< no slot from here on was ever used
  std::uint64_t generation_ = 1;   ///< of the newest segment or exposure; odd
  std::uint32_t version_ = 1;
  Segments segments_;                                         ///< by base
  std::multimap<RemoteAddress, Registration> registrations_;  ///< by base, the newest last
  ExposureTable exposures_;
  Coverage user_memory_;  ///< the registrations of it
};

}  // namespace mpixrma::engine
