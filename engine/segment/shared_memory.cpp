#include "engine/segment/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

namespace mpix::engine {

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Mapping::~Mapping() {
  if (base_ != nullptr) ::munmap(base_, length_);
}

Mapping Mapping::of(FileDescriptor const& fd, std::size_t length) noexcept {
  Mapping mapping;
  void* const base = ::mmap(nullptr, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd.get(), 0);
  if (base != MAP_FAILED) {
    mapping.base_ = static_cast<std::byte*>(base);
    mapping.length_ = length;
  }
  return mapping;
}

FileDescriptor create_shared(char const* name, std::size_t length) noexcept {
  FileDescriptor fd(::memfd_create(name, MFD_CLOEXEC));
  if (fd && ::ftruncate(fd.get(), static_cast<off_t>(length)) != 0) return {};
  return fd;
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
