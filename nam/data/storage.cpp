#include "nam/data/storage.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "engine/atomic/stripes.hpp"
#include "nam/protocol/error.hpp"

namespace mpix::nam {

namespace {

constexpr std::uint64_t huge_page_bytes = 2u << 20;

[[noreturn]] void fail(ErrorCode code, std::string const& what) {
  throw Error(code, what + ": " + std::strerror(errno));
}

/// With all of its blocks, so that nobody finds out by a signal that the disk is full.
engine::FileDescriptor make_file(std::uint64_t bytes, std::filesystem::path const& path, bool* fresh) {
  engine::FileDescriptor file(
      ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) fail(ErrorCode::internal, "cannot open " + path.string());
  *fresh = status.st_size == 0;
  if (static_cast<std::uint64_t>(status.st_size) == bytes) return file;
  if (status.st_size != 0)
    throw Error(ErrorCode::unavailable, path.string() + " has " + std::to_string(status.st_size) +
                                            " bytes in place of " + std::to_string(bytes));
  int const error = ::posix_fallocate(file.get(), 0, static_cast<off_t>(bytes));
  if (error == 0) return file;
  ::unlink(path.c_str());
  errno = error;
  fail(error == ENOSPC || error == EFBIG ? ErrorCode::no_space : ErrorCode::internal,
       "no room for " + std::to_string(bytes) + " bytes in " + path.string());
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

Storage::Storage(StorageKind kind, std::uint64_t bytes, std::filesystem::path const& file) : kind_(kind) {
  if (kind == StorageKind::file) {
    descriptor_ = make_file(bytes, file, &fresh_);
  } else {
    fresh_ = true;
    auto const status =
        kind == StorageKind::huge
            ? engine::create_shared_huge(
                  "mpix-nam", (bytes + huge_page_bytes - 1) / huge_page_bytes * huge_page_bytes, &descriptor_)
            : engine::create_shared("mpix-nam", bytes, &descriptor_);
    if (engine::failed(status))
      throw Error(ErrorCode::no_space, "the system has no such memory for the grant");
  }
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
  // An engine that serves the memory finds the stripes of others, who know them by offsets.
  mapping_ = kind_ == StorageKind::huge ? engine::Mapping::reserved(descriptor_, bytes, engine::stripe_period)
                                        : engine::Mapping::of(descriptor_, bytes, engine::stripe_period);
  if (!mapping_) fail(ErrorCode::no_space, "cannot map the memory of the grant");
}

void Storage::clear(std::uint64_t offset, std::uint64_t length) {
  if (length == 0) return;
  // Blocks of a file stay its own: others could take them.
  int const how =
      kind_ == StorageKind::memory ? FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE : FALLOC_FL_ZERO_RANGE;
  bool const done =
      kind_ != StorageKind::huge &&
      ::fallocate(descriptor_.get(), how, static_cast<off_t>(offset), static_cast<off_t>(length)) == 0;
  if (!done) std::memset(base() + offset, 0, length);
}

void Storage::sync(std::uint64_t offset, std::uint64_t length) const {
  if (kind_ != StorageKind::file || length == 0) return;
  if (::msync(base() + offset, length, MS_SYNC) != 0) fail(ErrorCode::internal, "msync");
}

}  // namespace mpix::nam
