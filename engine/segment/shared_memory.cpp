#include "engine/segment/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace mpix::engine {

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Mapping::~Mapping() {
  if (base_ != nullptr) ::munmap(base_, length_);
}

Mapping Mapping::of(FileDescriptor const& fd, std::size_t length) noexcept {
  return with_flags(fd, length, MAP_SHARED | MAP_NORESERVE);
}

Mapping Mapping::reserved(FileDescriptor const& fd, std::size_t length) noexcept {
  return with_flags(fd, length, MAP_SHARED);
}

void Mapping::advise_huge_pages() const noexcept { (void)::madvise(base_, length_, MADV_HUGEPAGE); }

Mapping Mapping::with_flags(FileDescriptor const& fd, std::size_t length, int flags) noexcept {
  Mapping mapping;
  void* const base = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, flags, fd.get(), 0);
  if (base != MAP_FAILED) {
    mapping.base_ = static_cast<std::byte*>(base);
    mapping.length_ = length;
  }
  return mapping;
}

namespace {

// What a UCX worker opens, with room to spare.
constexpr int few_descriptors = 24;

Status create(char const* name, std::size_t length, unsigned flags, FileDescriptor* created) noexcept {
  FileDescriptor fd(::memfd_create(name, flags));
  if (!fd) return errno == EMFILE || errno == ENFILE ? Status::no_descriptors : Status::out_of_memory;
  if (::ftruncate(fd.get(), static_cast<off_t>(length)) != 0) return Status::out_of_memory;
  *created = std::move(fd);
  return Status::ok;
}

}  // namespace

Status create_shared(char const* name, std::size_t length, FileDescriptor* created) noexcept {
  return create(name, length, MFD_CLOEXEC, created);
}

Status create_shared_huge(char const* name, std::size_t length, FileDescriptor* created) noexcept {
  return create(name, length, MFD_CLOEXEC | MFD_HUGETLB, created);
}

bool descriptors_run_short() noexcept {
  FileDescriptor probes[few_descriptors];
  for (FileDescriptor& probe : probes) {
    probe = FileDescriptor(::memfd_create("mpix-probe", MFD_CLOEXEC));
    if (!probe) return errno == EMFILE || errno == ENFILE;
  }
  return false;
}

FileDescriptor open_shared(pid_t pid, int fd) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", static_cast<int>(pid), fd);
  return FileDescriptor(::open(path, O_RDWR | O_CLOEXEC));
}

void release_pages(FileDescriptor const& fd, std::size_t offset, std::size_t length) noexcept {
  // Failure only means that the pages stay in use until the file is closed.
  (void)::fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                    static_cast<off_t>(length));
}

}  // namespace mpix::engine
