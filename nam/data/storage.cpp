#include "nam/data/storage.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/memory/commit.hpp"
#include "engine/memory/fault_guard.hpp"
#include "engine/memory/headroom.hpp"
#include "engine/sync/stripes.hpp"
#include "nam/protocol/error.hpp"
#include "nam/protocol/units.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::uint64_t small_page_bytes = 4096;
constexpr std::uint64_t huge_page_bytes = 2u << 20;
constexpr std::uint64_t largest_reservation = 256u << 20;  ///< per call

[[noreturn]] void fail(ErrorCode code, std::string const& what) {
  throw Error(code, what + ": " + std::strerror(errno));
}

/// Calls access(), which touches `length` bytes at `address`.
template <typename Access>
void guarded(std::byte const* address, std::size_t length, Access access) {
  if (length == 0) return;
  engine::FaultScope const scope;
  (void)engine::admit_faults();
  auto const begin = reinterpret_cast<std::uintptr_t>(address);
  if (engine::run_guarded({begin, begin + length}, access))
    throw Error(ErrorCode::unavailable, "the system has no memory behind this part of the grant");
}

}  // namespace

StorageKind parse_storage(std::string const& name) {
  for (StorageKind const kind : {StorageKind::memory, StorageKind::huge, StorageKind::file}) {
    if (name == to_string(kind)) return kind;
  }
  throw Error(ErrorCode::bad_request, "the storage is memory, huge or file, not '" + name + "'");
}

char const* to_string(StorageKind kind) noexcept {
  switch (kind) {
    case StorageKind::memory: return "memory";
    case StorageKind::huge: return "huge";
    default: return "file";
  }
}

std::uint64_t bytes_of_pages(StorageKind kind, std::uint64_t bytes) noexcept {
  std::uint64_t const page = kind == StorageKind::huge ? huge_page_bytes : small_page_bytes;
  return (bytes + page - 1) / page * page;
}

Storage::Storage(StorageKind kind, std::uint64_t bytes) : kind_(kind), fresh_(true) {
  auto const status = kind == StorageKind::huge
                          ? engine::create_shared_huge("mpix-nam", bytes_of_pages(kind, bytes), &descriptor_)
                          : engine::create_shared("mpix-nam", bytes, &descriptor_);
  if (engine::failed(status)) throw Error(ErrorCode::no_space, "the system has no such memory for the grant");
  map(bytes);
}

Storage::Storage(StorageKind kind, std::uint64_t bytes, engine::FileDescriptor descriptor)
    : kind_(kind), descriptor_(std::move(descriptor)) {
  struct stat status {};
  if (::fstat(descriptor_.get(), &status) != 0 || static_cast<std::uint64_t>(status.st_size) < bytes)
    throw Error(ErrorCode::unavailable, "the memory of the grant is shorter than it was");
  map(bytes);
}

void Storage::map(std::uint64_t bytes) {
  // Aligned to the period of the stripes: an engine that serves the memory uses the same stripes as other
  // processes, which choose them by offset.
  mapping_ = kind_ == StorageKind::huge
                 ? engine::Mapping::of_huge_pages(descriptor_, bytes, engine::stripe_period)
                 : engine::Mapping::of(descriptor_, bytes, engine::stripe_period);
  if (!mapping_) fail(ErrorCode::no_space, "cannot map the memory of the grant");
}

bool Storage::reserve_next() {
  if (kind_ == StorageKind::huge) return true;  // the mapping has reserved the huge pages
  std::uint64_t const left = bytes() - reserved_;
  // The first check rejects what the machine does not have, before any memory is taken.
  bool const may_begin = reserved_ != 0 || engine::memory_headroom_or_none() >= bytes();
  std::uint64_t const part = std::min(largest_reservation, left);
  engine::CommitCredit credit;
  if (!may_begin || engine::failed(engine::commit_memory(descriptor_, mapping_, reserved_, part, credit))) {
    discard();
    throw Error(ErrorCode::no_space,
                "the machine has too little memory for a grant of " + format_bytes(bytes()));
  }
  reserved_ += part;
  return reserved_ == bytes();
}

void Storage::discard() noexcept { engine::release_pages(descriptor_, 0, bytes()); }

void Storage::clear(std::uint64_t offset, std::uint64_t length) {
  if (length == 0) return;
  bool const done = kind_ != StorageKind::huge && !keeps_pages_ &&
                    ::fallocate(descriptor_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                static_cast<off_t>(offset), static_cast<off_t>(length)) == 0;
  if (done) return;
  guarded(base() + offset, length, [&] { std::memset(base() + offset, 0, length); });
}

void Storage::read(std::uint64_t offset, std::span<std::byte> into) const {
  std::byte const* const from = base() + offset;
  guarded(from, into.size(), [&] { std::memcpy(into.data(), from, into.size()); });
}

void Storage::write(std::uint64_t offset, std::span<std::byte const> from) {
  std::byte* const into = base() + offset;
  guarded(into, from.size(), [&] { std::memcpy(into, from.data(), from.size()); });
}

void Storage::access(std::uint64_t offset, std::uint64_t length, std::function<void()> const& access) const {
  guarded(base() + offset, length, [&] { access(); });
}

}  // namespace mpixrma::nam
