/// Memory shared by processes of one host: anonymous files, mapped here and opened by peers through /proc.
/// Nothing is left behind when a process dies, and /dev/shm and its size limit are not used. No process can
/// truncate a file, so mapped memory stays accessible.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <utility>

#include "engine/base/access.hpp"
#include "engine/base/status.hpp"

namespace mpixrma::engine {

/// Owns a file descriptor.
class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int fd) noexcept : fd_(fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor();

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// Owns a shared mapping.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)),
        length_(std::exchange(other.length_, 0)),
        addresses_(std::exchange(other.addresses_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(length_, other.length_);
    std::swap(addresses_, other.addresses_);
    return *this;
  }
  ~Mapping();

  /// Maps `length` bytes of `fd` for reading and writing, at an address that is a multiple of `alignment`; 0:
  /// of the page size. `alignment` must be a multiple of the page size. Empty on failure.
  static Mapping of(FileDescriptor const& fd, std::size_t length, std::size_t alignment = 0) noexcept;

  /// As of(), at exactly this address, a multiple of the page size. Empty also if something is mapped there.
  static Mapping at(FileDescriptor const& fd, std::size_t length, std::uintptr_t address) noexcept;

  /// As of(), for reading only.
  static Mapping read_only(FileDescriptor const& fd, std::size_t length) noexcept;

  /// As of(), for a file of create_shared_huge(): the system reserves the huge pages for the mapping, so that
  /// the first access cannot fail.
  static Mapping of_huge_pages(FileDescriptor const& fd, std::size_t length,
                               std::size_t alignment = 0) noexcept;

  /// Maps the memory at [base, base + length) a second time, in whole pages and with the same access, so that
  /// it stays mapped here whatever becomes of the first mapping. Empty on failure, and if the memory is not
  /// shared.
  static Mapping second(std::byte const* base, std::size_t length) noexcept;

  /// Requests transparent huge pages, as far as they fit into [offset, offset + length); a hint.
  void advise_huge_pages(std::size_t offset, std::size_t length) const noexcept;

  /// Requests that pages not yet allocated be placed on this NUMA node while it has memory left, no matter
  /// which thread of which process touches them first. Returns 0, or errno.
  int prefer_node(unsigned node) const noexcept;

  /// Releases the memory permanently. The addresses then map private memory, because other threads may be in
  /// the middle of an access.
  void release_memory() noexcept;

  /// Gives up the ownership: the memory stays mapped until the process ends.
  void keep() noexcept { base_ = nullptr; }

  std::byte* base() const noexcept { return base_; }
  std::size_t length() const noexcept { return length_; }
  explicit operator bool() const noexcept { return base_ != nullptr; }

 private:
  static Mapping make(FileDescriptor const& fd, std::size_t length, int protection, int flags,
                      std::size_t alignment) noexcept;

  std::byte* base_ = nullptr;
  std::size_t length_ = 0;
  std::size_t addresses_ = 0;  ///< number of addresses from `base_` on that were reserved; `length_` or more
};

/// Creates an anonymous sparse file of `length` bytes. `name` appears in /proc. Returns no_descriptors,
/// out_of_memory or, if the system does not seal files, unsupported on failure.
Status create_shared(char const* name, std::size_t length, FileDescriptor* created) noexcept;

/// As create_shared(), with the system's huge pages; `length` is a multiple of their size.
Status create_shared_huge(char const* name, std::size_t length, FileDescriptor* created) noexcept;

/// Whether so few file descriptors are left that their shortage explains a preceding failure. For libraries
/// that close their descriptors on failure and do not report the reason.
bool descriptors_run_short() noexcept;

/// Creates a file that only this process writes, mapped as `mapping`; others can open it for reading. Linux
/// before 5.1 does not prevent them from writing.
Status create_published(char const* name, std::size_t length, FileDescriptor* created,
                        Mapping* mapping) noexcept;

/// Opens descriptor `fd` of process `pid`, which must refer to a file that the functions above have created.
/// Empty if the system does not permit it, or if `fd` refers to another kind of file, or to one shorter than
/// `length` bytes.
FileDescriptor open_shared(pid_t pid, int fd, Access access, std::size_t length) noexcept;

/// Allocates pages for [offset, offset + length) of `fd`, which is mapped as `mapping`. Returns false if
/// the system has too few pages; some of the range may be allocated even then.
bool take_pages(FileDescriptor const& fd, Mapping const& mapping, std::size_t offset,
                std::size_t length) noexcept;

/// Returns the pages of [offset, offset + length) to the system; they read as zero afterwards.
void release_pages(FileDescriptor const& fd, std::size_t offset, std::size_t length) noexcept;

}  // namespace mpixrma::engine
