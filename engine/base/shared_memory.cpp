#include "engine/base/shared_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "engine/base/failed_call.hpp"

namespace mpixrma::engine {

FileDescriptor::~FileDescriptor() {
  if (fd_ >= 0) ::close(fd_);
}

Mapping::~Mapping() {
  if (base_ != nullptr) ::munmap(base_, addresses_);
}

Mapping Mapping::of(FileDescriptor const& fd, std::size_t length, std::size_t alignment) noexcept {
  return make(fd, length, PROT_READ | PROT_WRITE, MAP_NORESERVE, alignment);
}

Mapping Mapping::at(FileDescriptor const& fd, std::size_t length, std::uintptr_t address) noexcept {
  Mapping mapping;
  auto* const place = reinterpret_cast<void*>(address);
  // Linux before 4.17 takes the address as a hint.
  void* const base = ::mmap(place, length, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_NORESERVE | MAP_FIXED_NOREPLACE, fd.get(), 0);
  if (base == MAP_FAILED) return mapping;
  mapping.base_ = static_cast<std::byte*>(base);
  mapping.length_ = mapping.addresses_ = length;
  return base == place ? std::move(mapping) : Mapping();
}

Mapping Mapping::read_only(FileDescriptor const& fd, std::size_t length) noexcept {
  return make(fd, length, PROT_READ, MAP_NORESERVE, 0);
}

Mapping Mapping::of_huge_pages(FileDescriptor const& fd, std::size_t length, std::size_t alignment) noexcept {
  return make(fd, length, PROT_READ | PROT_WRITE, 0, alignment);
}

Mapping Mapping::second(std::byte const* base, std::size_t length) noexcept {
  auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::size_t const before = reinterpret_cast<std::uintptr_t>(base) % page;
  auto* const first = const_cast<std::byte*>(base) - before;
  Mapping mapping;
  // The old length 0 requests a copy of the mapping; the kernel refuses it for private memory.
  void* const copy = ::mremap(first, 0, before + length, MREMAP_MAYMOVE);
  if (copy == MAP_FAILED) return mapping;
  mapping.base_ = static_cast<std::byte*>(copy);
  mapping.length_ = mapping.addresses_ = before + length;
  return mapping;
}

void Mapping::release_memory() noexcept {
  if (base_ == nullptr) return;
  // On failure the memory merely stays in use.
  (void)::mmap(base_, length_, PROT_READ | PROT_WRITE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

int Mapping::prefer_node(unsigned node) const noexcept {
  // The C library has no function for this call.
  constexpr int preferred = 1;
  constexpr std::size_t bits = 8 * sizeof(unsigned long);
  std::array<unsigned long, 1024 / bits> nodes{};
  if (node / bits >= nodes.size()) return EINVAL;
  nodes[node / bits] |= 1UL << (node % bits);
  // The kernel reads one bit less than the given number.
  return ::syscall(SYS_mbind, base_, length_, preferred, nodes.data(), nodes.size() * bits + 1, 0) == 0
             ? 0
             : errno;
}

void Mapping::advise_huge_pages(std::size_t offset, std::size_t length) const noexcept {
  (void)::madvise(base_ + offset, length, MADV_HUGEPAGE);
}

namespace {

/// Reserves `length` addresses from a multiple of `alignment` on; `length` is a multiple of it as well.
/// Returns nullptr if the system has no such range left.
std::byte* reserve_addresses(std::size_t length, std::size_t alignment) noexcept {
  void* const room =
      ::mmap(nullptr, length + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  auto* const first = static_cast<std::byte*>(room);
  std::size_t const before = (alignment - reinterpret_cast<std::uintptr_t>(first) % alignment) % alignment;
  if (before != 0) ::munmap(first, before);
  if (before != alignment) ::munmap(first + before + length, alignment - before);
  return first + before;
}

}  // namespace

Mapping Mapping::make(FileDescriptor const& fd, std::size_t length, int protection, int flags,
                      std::size_t alignment) noexcept {
  Mapping mapping;
  std::size_t const addresses = alignment != 0 ? (length + alignment - 1) / alignment * alignment : length;
  std::byte* const place = alignment != 0 ? reserve_addresses(addresses, alignment) : nullptr;
  if (alignment != 0 && place == nullptr) return mapping;
  if (place != nullptr) flags |= MAP_FIXED;
  void* const base = ::mmap(place, length, protection, MAP_SHARED | flags, fd.get(), 0);
  if (base != MAP_FAILED) {
    mapping.base_ = static_cast<std::byte*>(base);
    mapping.length_ = length;
    mapping.addresses_ = addresses;
  } else if (place != nullptr) {
    ::munmap(place, addresses);
  }
  return mapping;
}

namespace {

// About the number of descriptors that a UCX worker opens, with some reserve.
constexpr int few_descriptors = 24;

// Values of the kernel's interface that older headers do not define.
constexpr int seal_future_write = 0x0010;
constexpr int populate_write = 23;

constexpr int fixed_length = F_SEAL_SHRINK | F_SEAL_GROW;

/// Includes F_SEAL_SEAL, so that no process can add seals that lock the owner out of its own file.
bool seal(FileDescriptor const& fd, int seals) noexcept {
  if (::fcntl(fd.get(), F_ADD_SEALS, seals | F_SEAL_SEAL) == 0) return true;
  record_failed_call("fcntl(F_ADD_SEALS)", errno);
  return false;
}

Status create(char const* name, std::size_t length, unsigned flags, FileDescriptor* created) noexcept {
  FileDescriptor fd(::memfd_create(name, flags | MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) {
    if (errno == EMFILE || errno == ENFILE) return Status::no_descriptors;
    record_failed_call("memfd_create", errno);
    return Status::out_of_memory;
  }
  if (::ftruncate(fd.get(), static_cast<off_t>(length)) != 0) {
    record_failed_call("ftruncate", errno);
    return Status::out_of_memory;
  }
  *created = std::move(fd);
  return Status::ok;
}

Status create_sealed(char const* name, std::size_t length, unsigned flags, FileDescriptor* created) noexcept {
  FileDescriptor fd;
  if (Status const status = create(name, length, flags, &fd); failed(status)) return status;
  if (!seal(fd, fixed_length)) return Status::unsupported;
  *created = std::move(fd);
  return Status::ok;
}

}  // namespace

Status create_shared(char const* name, std::size_t length, FileDescriptor* created) noexcept {
  return create_sealed(name, length, 0, created);
}

Status create_shared_huge(char const* name, std::size_t length, FileDescriptor* created) noexcept {
  return create_sealed(name, length, MFD_HUGETLB, created);
}

Status create_published(char const* name, std::size_t length, FileDescriptor* created,
                        Mapping* mapping) noexcept {
  FileDescriptor fd;
  if (Status const status = create(name, length, 0, &fd); failed(status)) return status;
  *mapping = Mapping::of(fd, length);
  if (!*mapping) {
    record_failed_call("mmap", errno);
    return Status::out_of_memory;
  }
  // The existing mapping stays writable.
  if (!seal(fd, fixed_length | seal_future_write) && !seal(fd, fixed_length)) return Status::unsupported;
  *created = std::move(fd);
  return Status::ok;
}

bool descriptors_run_short() noexcept {
  FileDescriptor probes[few_descriptors];
  for (FileDescriptor& probe : probes) {
    probe = FileDescriptor(::memfd_create("mpix-probe", MFD_CLOEXEC));
    if (!probe) return errno == EMFILE || errno == ENFILE;
  }
  return false;
}

FileDescriptor open_shared(pid_t pid, int fd, Access access, std::size_t length) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", static_cast<int>(pid), fd);
  // O_NONBLOCK, because the number may refer to another kind of file.
  int const flags = (access == Access::write ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK;
  FileDescriptor opened(::open(path, flags));
  if (!opened) return opened;
  // An access beyond the end of a file raises SIGBUS, so the file must be long enough and stay so.
  int const seals = ::fcntl(opened.get(), F_GET_SEALS);
  struct stat status {};
  bool const fixed = seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
  if (!fixed || ::fstat(opened.get(), &status) != 0 || status.st_size < 0 ||
      static_cast<std::size_t>(status.st_size) < length) {
    return {};
  }
  return opened;
}

bool take_pages(FileDescriptor const& fd, Mapping const& mapping, std::size_t offset,
                std::size_t length) noexcept {
  int error = 0;
  do {
    error = ::madvise(mapping.base() + offset, length, populate_write) == 0 ? 0 : errno;
  } while (error == EINTR || error == EAGAIN);
  if (error != EINVAL) return error == 0;
  // Linux before 5.14: allocates the pages without entering them into the page tables.
  do {
    error = ::fallocate(fd.get(), 0, static_cast<off_t>(offset), static_cast<off_t>(length)) == 0 ? 0 : errno;
  } while (error == EINTR);
  return error == 0;
}

void release_pages(FileDescriptor const& fd, std::size_t offset, std::size_t length) noexcept {
  // On failure the pages merely stay in use until the file is closed.
  (void)::fallocate(fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                    static_cast<off_t>(length));
}

}  // namespace mpixrma::engine
