#include "nam/protocol/shared_control.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "nam/protocol/descriptors.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::uint64_t header_mark = 0x326c72746e6f636e;
constexpr std::uint64_t max_slots = std::uint64_t{1} << 32;

/// Hash that identifies a window in its slot.
std::uint64_t key_of(std::string const& window) {
  std::uint64_t key = 14695981039346656037u;  // FNV-1a
  for (char const c : window) key = (key ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return std::max<std::uint64_t>(key, 1);
}

}  // namespace

SharedControl SharedControl::make(std::uint64_t windows) {
  FileDescriptor made;
  if (engine::failed(
          engine::create_shared("mpix-nam-control", bytes_for(std::min(windows, max_slots)), &made)))
    throw Error(ErrorCode::no_space, "out of memory for the windows of the grant");
  return take_over(std::move(made));
}

SharedControl::SharedControl(FileDescriptor descriptor)
    : SharedControl(std::move(descriptor), HeaderAccess::read) {}

SharedControl SharedControl::take_over(FileDescriptor descriptor) {
  return SharedControl(std::move(descriptor), HeaderAccess::write);
}

/// The number of slots derives from the sealed length of the file and is stored here, because the shared
/// header can change at any time.
SharedControl::SharedControl(FileDescriptor descriptor, HeaderAccess access)
    : descriptor_(std::move(descriptor)) {
  struct stat status {};
  bool const is_there = ::fstat(descriptor_.get(), &status) == 0;
  auto const bytes = static_cast<std::uint64_t>(status.st_size);
  if (is_there && bytes >= sizeof(Header)) mapping_ = engine::Mapping::of(descriptor_, bytes);
  if (!mapping_) throw Error(ErrorCode::unavailable, "the control memory of the grant cannot be mapped");
  slots_ = std::min((bytes - sizeof(Header)) / sizeof(Entry), max_slots);
  if (access == HeaderAccess::write) {
    header().mark = header_mark;
    header().slots = slots_;
  } else if (header().mark != header_mark) {
    throw Error(ErrorCode::unavailable, "the control memory of the grant has another version");
  }
}

FileDescriptor SharedControl::reopen() const { return reopened(descriptor_.get()); }

std::optional<SharedControl::Slot> SharedControl::find(std::string const& window) noexcept {
  std::uint64_t const key = key_of(window);
  taken_.resize(slots_);
  for (std::uint64_t slot = 0; slot < slots_; ++slot) {
    // Relaxed, as below: only the data process stores a key; a client at most clears one (withdraw()).
    if (taken_[slot] || entry(slot).window.load(std::memory_order_relaxed) != key) continue;
    taken_[slot] = true;
    return static_cast<Slot>(slot);
  }
  return std::nullopt;
}

/// The search continues where the last one ended, because the first slot tried is then usually free.
std::optional<SharedControl::Slot> SharedControl::place(std::string const& window) noexcept {
  taken_.resize(slots_);
  for (std::uint64_t tried = 0; tried < slots_; ++tried) {
    std::uint64_t const slot = next_;
    next_ = (next_ + 1) % slots_;
    if (taken_[slot]) continue;
    taken_[slot] = true;
    entry(slot).window.store(key_of(window), std::memory_order_relaxed);
    return static_cast<Slot>(slot);
  }
  return std::nullopt;
}

bool SharedControl::is_taken(Slot slot) const noexcept {
  return entry(slot).window.load(std::memory_order_relaxed) != 0;
}

std::uint64_t SharedControl::cache_window(Slot slot, std::uint64_t generation) const noexcept {
  if (!entry(slot).generation.compare_exchange_strong(generation, generation + 1, std::memory_order_acq_rel))
    return 0;
  // Release: pairs with the acquire in take_cached(), for the zeroed memory.
  entry(slot).cached.store(generation + 1, std::memory_order_release);
  return generation + 1;
}

bool SharedControl::take_cached(Slot slot, std::uint64_t generation) const noexcept {
  std::uint64_t cached = generation;
  return entry(slot).cached.compare_exchange_strong(cached, 0, std::memory_order_acq_rel) &&
         entry(slot).generation.load(std::memory_order_acquire) == generation;
}

/// The slot may have been withdrawn during cache_window().
std::uint64_t SharedControl::cached(Slot slot) const noexcept {
  std::uint64_t const cached = entry(slot).cached.load(std::memory_order_relaxed);
  return cached == entry(slot).generation.load(std::memory_order_relaxed) ? cached : 0;
}

void SharedControl::free_slot(Slot slot) noexcept {
  if (slot < taken_.size()) taken_[slot] = false;
  withdraw(slot);
}

void SharedControl::withdraw(Slot slot) const noexcept {
  // Must be first: a process that took the cached window before this store has a generation that ends below.
  entry(slot).cached.store(0, std::memory_order_release);
  entry(slot).window.store(0, std::memory_order_relaxed);
  // Release: pairs with the acquire in engine::ExposedView::translate; precedes any reuse of the memory.
  entry(slot).generation.fetch_add(1, std::memory_order_acq_rel);
}

void SharedControl::withdraw_others(std::vector<std::string> const& windows) noexcept {
  std::vector<std::uint64_t> keys(windows.size());
  std::transform(windows.begin(), windows.end(), keys.begin(), key_of);
  std::sort(keys.begin(), keys.end());
  for (std::uint64_t slot = 0; slot < slots_; ++slot) {
    std::uint64_t const there = entry(slot).window.load(std::memory_order_relaxed);
    if (there != 0 && !std::binary_search(keys.begin(), keys.end(), there)) withdraw(static_cast<Slot>(slot));
  }
}

/// A process that requests an exclusive lock keeps the turn until it releases the lock: others queue behind
/// it, so it waits only for the current holders of shared locks, and for shared locks that overtake.
bool SharedControl::try_lock(Slot slot, std::uint32_t rank, engine::LockMode mode, bool* has_turn) const {
  std::uint64_t const lock = 2 * region(slot, rank);
  std::uint64_t const turn = lock + 1;
  if (!*has_turn) *has_turn = try_range(turn, 1, mode);
  if (!*has_turn || !try_range(lock, 1, mode)) return false;
  if (mode == engine::LockMode::shared) release_range(turn, 1);
  return true;
}

/// Locks of open file descriptions are released with the last descriptor, even if the process was killed.
bool SharedControl::try_range(std::uint64_t begin, std::uint64_t length, engine::LockMode mode) const {
  struct flock wanted {};
  wanted.l_type = mode == engine::LockMode::exclusive ? F_WRLCK : F_RDLCK;
  wanted.l_whence = SEEK_SET;
  wanted.l_start = static_cast<off_t>(begin);
  wanted.l_len = static_cast<off_t>(length);
  if (::fcntl(descriptor_.get(), F_OFD_SETLK, &wanted) == 0) return true;
  if (errno == EAGAIN || errno == EACCES) return false;
  throw Error(ErrorCode::no_space, std::string("cannot lock: ") + std::strerror(errno));
}

void SharedControl::release_range(std::uint64_t begin, std::uint64_t length) const noexcept {
  struct flock wanted {};
  wanted.l_type = F_UNLCK;
  wanted.l_whence = SEEK_SET;
  wanted.l_start = static_cast<off_t>(begin);
  wanted.l_len = static_cast<off_t>(length);
  (void)::fcntl(descriptor_.get(), F_OFD_SETLK, &wanted);
}

}  // namespace mpixrma::nam
