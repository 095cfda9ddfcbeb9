/// The page tables of a mapped region of another process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mpixrma::engine {

/// Enters pages into the page tables of this process many at a time, which takes a tenth of the time of their
/// page faults.
///
/// A chunk is the part of the region that one page of a page table describes. A chunk in which accesses have
/// caused page faults is prefaulted: all its pages that exist are entered; holes stay holes. As many chunks
/// behind it are prefaulted as are already prefaulted directly in front of it, but at least one and at
/// most 64. With accesses to consecutive chunks, the page tables thus take at most twice the memory that the
/// accesses alone would have given them.
class PrefaultedRegion {
 public:
  static constexpr std::size_t pages_of_chunk = 512;

  /// `base` is a multiple of the page size, and so is `length`. `pagemap`: descriptor of /proc/self/pagemap.
  PrefaultedRegion(std::byte* base, std::size_t length, int pagemap);

  enum class Step : std::uint8_t {
    none,        ///< no page was entered
    prefaulted,  ///< pages were entered
    unsupported  ///< the system cannot enter pages in bulk
  };
  /// Examines the next chunk, and prefaults it if it should be.
  Step step();
  /// Forgets which pages are entered.
  void renew() noexcept;
  std::size_t chunks() const noexcept { return entered_.size(); }
  /// Whether all pages of all chunks are entered.
  bool is_full() const noexcept { return full_ == entered_.size(); }

 private:
  struct Range {
    std::byte* begin;
    std::size_t pages;
  };
  Range range(std::size_t chunk) const noexcept;
  std::size_t count_entered(std::size_t chunk) const;
  Step prefault(std::size_t chunk);
  std::size_t prefaulted_before(std::size_t chunk) const noexcept;

  std::size_t const page_;  ///< in bytes
  std::byte* const base_;
  std::size_t const length_;
  int const pagemap_;
  std::size_t const ahead_of_base_;  ///< bytes of the first chunk that precede the region
  std::vector<std::uint16_t>
      entered_;            ///< number of entered pages of each chunk when it was prefaulted; 0: never
  std::size_t next_ = 0;   ///< chunk of the next step
  std::size_t ahead_ = 0;  ///< number of chunks from `next_` on that are prefaulted without an access
  std::size_t full_ = 0;   ///< number of chunks of which all pages are entered
};

}  // namespace mpixrma::engine
