/// Memory that processes of one host share: anonymous files, mapped here and opened by peers through
/// /proc. Nothing is left behind when a process dies, and /dev/shm and its size limit are not used. No file
/// can be made shorter by anybody: what is mapped stays there.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <utility>

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
      : base_(std::exchange(other.base_, nullptr)), length_(std::exchange(other.length_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept {
    std::swap(base_, other.base_);
    std::swap(length_, other.length_);
    return *this;
  }
  ~Mapping();

  /// Maps `length` bytes of `fd` for reading and writing. Empty on failure. `alignment`: of the address, a
  /// multiple of the size of pages, in whose multiples addresses are taken then; 0: that of pages.
  static Mapping of(FileDescriptor const& fd, std::size_t length, std::size_t alignment = 0) noexcept;

  /// The same for reading only.
  static Mapping read_only(FileDescriptor const& fd, std::size_t length) noexcept;

  /// For reading and writing, with its memory set aside, so that touching it cannot fail.
  static Mapping reserved(FileDescriptor const& fd, std::size_t length, std::size_t alignment = 0) noexcept;

  /// Asks for huge pages behind ordinary memory, as far as they fit into [offset, offset + length); a hint.
  void advise_huge_pages(std::size_t offset, std::size_t length) const noexcept;

  /// Lets go of the memory behind the addresses, for good. They stay as they are, for those who may be in the
  /// middle of an access: with memory of this process alone behind them.
  void release_memory() noexcept;

  std::byte* base() const noexcept { return base_; }
  std::size_t length() const noexcept { return length_; }
  explicit operator bool() const noexcept { return base_ != nullptr; }

 private:
  static Mapping make(FileDescriptor const& fd, std::size_t length, int protection, int flags,
                      std::size_t alignment) noexcept;

  std::byte* base_ = nullptr;
  std::size_t length_ = 0;
};

/// A new anonymous file of `length` bytes (sparse). `name` shows in /proc. Status::no_descriptors or
/// out_of_memory.
Status create_shared(char const* name, std::size_t length, FileDescriptor* created) noexcept;

/// The same out of the system's huge pages; `length` is a multiple of their size.
Status create_shared_huge(char const* name, std::size_t length, FileDescriptor* created) noexcept;

/// Whether so few file descriptors are left that what has failed has failed for that: for failures of
/// libraries that give back what they have opened and do not say why.
bool descriptors_run_short() noexcept;

/// A file that only this process writes, mapped as `mapping`; others can open it for reading. On Linux
/// before 5.1 nothing but their good manners keeps them from more.
Status create_published(char const* name, std::size_t length, FileDescriptor* created,
                        Mapping* mapping) noexcept;

enum class Access { read, write };

/// Opens file `fd` of process `pid`, which has to be one of the above; empty when the system does not permit
/// it, or when something other than at least `length` bytes of such memory is there.
FileDescriptor open_shared(pid_t pid, int fd, Access access, std::size_t length) noexcept;

/// Takes pages for [offset, offset + length) of `fd`, which is mapped as `mapping`; false when there are too
/// few, and then some may be taken.
bool take_pages(FileDescriptor const& fd, Mapping const& mapping, std::size_t offset,
                std::size_t length) noexcept;

/// Gives the pages of [offset, offset + length) back to the system; they read as zero afterwards.
void release_pages(FileDescriptor const& fd, std::size_t offset, std::size_t length) noexcept;

}  // namespace mpixrma::engine
