#include "engine/origin/prefaulted_region.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace mpixrma::engine {

namespace {

constexpr int populate_read = 22;  // MADV_POPULATE_READ, since Linux 5.14
constexpr std::uint64_t is_present = std::uint64_t{1} << 63;
// Maximum number of consecutive chunks prefaulted without an access: random accesses must not prefault memory
// far from them.
constexpr std::size_t max_ahead = 64;

}  // namespace

PrefaultedRegion::PrefaultedRegion(std::byte* base, std::size_t length, int pagemap)
    : page_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))),
      base_(base),
      length_(length),
      pagemap_(pagemap),
      ahead_of_base_(reinterpret_cast<std::uintptr_t>(base) % (pages_of_chunk * page_)),
      entered_((ahead_of_base_ + length + pages_of_chunk * page_ - 1) / (pages_of_chunk * page_)) {}

void PrefaultedRegion::renew() noexcept {
  std::ranges::fill(entered_, std::uint16_t{0});
  ahead_ = 0;
  full_ = 0;
}

PrefaultedRegion::Range PrefaultedRegion::range(std::size_t chunk) const noexcept {
  std::size_t const bytes = pages_of_chunk * page_;
  std::size_t const begin = std::max(chunk * bytes, ahead_of_base_) - ahead_of_base_;
  std::size_t const end = std::min((chunk + 1) * bytes - ahead_of_base_, length_);
  return {base_ + begin, (end - begin) / page_};
}

std::size_t PrefaultedRegion::count_entered(std::size_t chunk) const {
  auto const [begin, pages] = range(chunk);
  std::array<std::uint64_t, pages_of_chunk> entries;
  auto const place = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(begin) / page_ * sizeof entries[0]);
  ssize_t const bytes = ::pread(pagemap_, entries.data(), pages * sizeof entries[0], place);
  std::size_t const count = bytes > 0 ? static_cast<std::size_t>(bytes) / sizeof entries[0] : 0;
  return static_cast<std::size_t>(
      std::count_if(entries.begin(), entries.begin() + count,
                    [](std::uint64_t entry) { return (entry & is_present) != 0; }));
}

/// Returns the number of prefaulted chunks directly in front of this one, at most `max_ahead`.
std::size_t PrefaultedRegion::prefaulted_before(std::size_t chunk) const noexcept {
  std::size_t count = 0;
  while (count < max_ahead && count < chunk && entered_[chunk - count - 1] != 0) ++count;
  return count;
}

PrefaultedRegion::Step PrefaultedRegion::step() {
  std::size_t const chunk = next_;
  next_ = chunk + 1 < entered_.size() ? chunk + 1 : 0;
  bool const follows = ahead_ != 0;
  ahead_ = follows && next_ != 0 ? ahead_ - 1 : 0;
  std::size_t const pages = range(chunk).pages;
  if (entered_[chunk] == pages) return Step::none;
  std::size_t const entered = count_entered(chunk);
  if (entered > entered_[chunk]) {
    std::size_t const wanted = std::max(prefaulted_before(chunk), std::size_t{1});
    if (next_ != 0) ahead_ = std::max(ahead_, wanted);
  } else if (!follows || entered_[chunk] != 0) {
    return Step::none;
  }
  return prefault(chunk);
}

PrefaultedRegion::Step PrefaultedRegion::prefault(std::size_t chunk) {
  auto const [begin, pages] = range(chunk);
  std::array<unsigned char, pages_of_chunk> exists;
  if (::mincore(begin, pages * page_, exists.data()) != 0) return Step::none;
  auto const has = [&](std::size_t page) { return (exists[page] & 1) != 0; };
  for (std::size_t first = 0; first < pages;) {
    if (!has(first)) {
      ++first;
      continue;
    }
    std::size_t end = first + 1;
    while (end < pages && has(end)) ++end;
    // Pages that cannot be entered are left to page faults.
    if (::madvise(begin + first * page_, (end - first) * page_, populate_read) != 0 && errno == EINVAL)
      return Step::unsupported;
    first = end;
  }
  // At least 1, so that the chunk counts as prefaulted.
  entered_[chunk] = static_cast<std::uint16_t>(std::max(count_entered(chunk), std::size_t{1}));
  if (entered_[chunk] == pages) ++full_;
  return Step::prefaulted;
}

}  // namespace mpixrma::engine
