/// The places of a grant's persistent windows, in an anonymous file that outlives the data process together
/// with the memory. A window stays in the list after its eviction, until no process can store to it: the
/// next data process reserves the memory of windows that the list has and the catalog has not.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

class SegmentList {
 public:
  struct Segment {
    std::string window;
    std::uint64_t offset = 0;  ///< in the grant
    std::uint64_t bytes = 0;
  };

  /// An empty list. Throws Error(no_space).
  SegmentList();
  /// The list of an earlier data process. Throws Error(unavailable) if it cannot be read.
  explicit SegmentList(engine::FileDescriptor descriptor);

  int descriptor() const noexcept { return descriptor_.get(); }
  /// In the order of the windows' identifiers.
  std::vector<Segment> segments() const;
  /// Has no effect if the list has the window. Throws Error(no_space).
  void add(Segment const& segment);
  void remove(std::string const& window) noexcept;

 private:
  struct Entry {
    Segment segment;
    std::uint64_t place = 0;
  };

  std::uint64_t free_place();

  engine::FileDescriptor descriptor_;
  std::map<std::string, Entry> entries_;
  std::vector<bool> taken_;  ///< places in the file
  std::uint64_t next_ = 0;   ///< where the search for a free place begins
};

}  // namespace mpixrma::nam
