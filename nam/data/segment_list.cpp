#include "nam/data/segment_list.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "nam/process/log.hpp"
#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

namespace {

/// In the file. Its length divides the length of a page: the system copies it at once, so that a process that
/// is killed leaves no half of it.
struct SegmentRecord {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::array<char, 112> window{};  ///< ends in zero; empty: the place is free
};
static_assert(sizeof(SegmentRecord) == 128);

bool write_record(int descriptor, std::uint64_t place, SegmentRecord const& record) noexcept {
  return ::pwrite(descriptor, &record, sizeof record, static_cast<off_t>(place * sizeof record)) ==
         sizeof record;
}

}  // namespace

SegmentList::SegmentList() : descriptor_(::memfd_create("mpix-nam-segments", MFD_CLOEXEC)) {
  if (!descriptor_) throw Error(ErrorCode::no_space, std::string("memfd_create: ") + std::strerror(errno));
}

SegmentList::SegmentList(engine::FileDescriptor descriptor) : descriptor_(std::move(descriptor)) {
  std::array<SegmentRecord, 512> records;
  for (;;) {
    ssize_t const got = ::pread(descriptor_.get(), records.data(), sizeof records,
                                static_cast<off_t>(taken_.size() * sizeof(SegmentRecord)));
    if (got < 0)
      throw Error(ErrorCode::unavailable,
                  std::string("cannot read the list of the grant's windows: ") + std::strerror(errno));
    std::size_t const count = static_cast<std::size_t>(got) / sizeof(SegmentRecord);
    if (count == 0) return;
    for (SegmentRecord& record : std::span(records).first(count)) {
      record.window.back() = 0;
      std::string const window = record.window.data();
      // A second record of a window, which no process writes, counts as free.
      bool const is_entry =
          !window.empty() &&
          entries_.try_emplace(window, Entry{{window, record.offset, record.bytes}, taken_.size()}).second;
      taken_.push_back(is_entry);
    }
  }
}

std::vector<SegmentList::Segment> SegmentList::segments() const {
  std::vector<Segment> segments;
  for (auto const& [window, entry] : entries_) segments.push_back(entry.segment);
  return segments;
}

/// The search continues where the last one ended, because the first place tried is then usually free.
std::uint64_t SegmentList::free_place() {
  if (entries_.size() >= taken_.size()) {
    next_ = taken_.size();
    taken_.push_back(false);
  }
  while (taken_[next_]) next_ = (next_ + 1) % taken_.size();
  return next_;
}

void SegmentList::add(Segment const& segment) {
  if (entries_.contains(segment.window)) return;
  SegmentRecord record{.offset = segment.offset, .bytes = segment.bytes};
  if (segment.window.size() >= record.window.size())
    throw Error(ErrorCode::malformed, "the identifier of a window is too long");
  std::copy(segment.window.begin(), segment.window.end(), record.window.begin());
  std::uint64_t const place = free_place();
  entries_.emplace(segment.window, Entry{segment, place});
  if (write_record(descriptor_.get(), place, record)) {
    taken_[place] = true;
    return;
  }
  entries_.erase(segment.window);
  throw Error(ErrorCode::no_space,
              std::string("cannot write the list of the grant's windows: ") + std::strerror(errno));
}

/// After a failure the next data process reserves the segment until no process maps the grant.
void SegmentList::remove(std::string const& window) noexcept {
  auto const found = entries_.find(window);
  if (found == entries_.end()) return;
  if (!write_record(descriptor_.get(), found->second.place, {}))
    log(Severity::error, "cannot write the list of the grant's windows");
  taken_[found->second.place] = false;
  entries_.erase(found);
}

}  // namespace mpixrma::nam
