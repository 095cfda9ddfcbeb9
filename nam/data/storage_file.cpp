#include "nam/data/storage_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::size_t piece_bytes = 256 * 1024;

[[noreturn]] void fail(std::string const& what, int error) {
  bool const full = error == ENOSPC || error == EFBIG || error == EDQUOT || error == ENOMEM;
  throw Error(full ? ErrorCode::no_space : ErrorCode::internal, what + ": " + std::strerror(error));
}

/// Returns the first page from `offset` on that may have data; `end` if all pages before it are holes.
std::uint64_t next_data(int descriptor, std::uint64_t offset, std::uint64_t end) {
  off_t const found = ::lseek(descriptor, static_cast<off_t>(offset), SEEK_DATA);
  if (found < 0) return errno == ENXIO ? end : offset;
  return std::min(end, static_cast<std::uint64_t>(found) / page_bytes * page_bytes);
}

void read_all(int descriptor, std::byte* into, std::uint64_t offset, std::size_t length,
              char const* subject) {
  while (length != 0) {
    ssize_t const got = ::pread(descriptor, into, length, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(std::string("cannot read ") + subject, errno);
    if (got == 0) throw Error(ErrorCode::unavailable, std::string(subject) + " is shorter than it was");
    into += got;
    offset += static_cast<std::uint64_t>(got);
    length -= static_cast<std::size_t>(got);
  }
}

void write_all(int descriptor, std::byte const* from, std::uint64_t offset, std::size_t length,
               char const* subject) {
  while (length != 0) {
    ssize_t const written = ::pwrite(descriptor, from, length, static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) fail(std::string("cannot write ") + subject, written < 0 ? errno : ENOSPC);
    from += written;
    offset += static_cast<std::uint64_t>(written);
    length -= static_cast<std::size_t>(written);
  }
}

constexpr char const* the_file = "the storage file of the grant";
constexpr char const* the_memory = "the memory of the grant";

}  // namespace

StorageFile::StorageFile(engine::FileDescriptor descriptor, StorageIdentity const& identity, bool is_new)
    : descriptor_(std::move(descriptor)), bytes_(identity.bytes) {
  // A data process that the control process has lost may still use the file.
  if (::flock(descriptor_.get(), LOCK_EX | LOCK_NB) != 0)
    throw Error(ErrorCode::exists, std::string("another process uses ") + the_file);
  if (!is_new) return;
  auto const length = static_cast<off_t>(storage_file_bytes(bytes_));
  // Allocates all of its blocks, so that a full disk is an error here and not when a window is persisted.
  if (int const error = ::posix_fallocate(descriptor_.get(), 0, length); error != 0)
    fail("no room for " + std::to_string(length) + " bytes in " + the_file, error);
  if (!write_identity(descriptor_.get(), identity) || ::fsync(descriptor_.get()) != 0)
    fail(std::string("cannot write ") + the_file, errno);
}

void StorageFile::check_length() const {
  struct stat status {};
  if (::fstat(descriptor_.get(), &status) != 0) fail(std::string("cannot read ") + the_file, errno);
  if (status.st_nlink == 0) throw Error(ErrorCode::unavailable, std::string(the_file) + " was deleted");
  if (static_cast<std::uint64_t>(status.st_size) < storage_file_bytes(bytes_))
    throw Error(ErrorCode::unavailable, std::string(the_file) + " is shorter than it was");
}

void StorageFile::load(int memory, std::uint64_t offset, std::uint64_t length) const {
  auto const buffer = std::make_unique<std::byte[]>(piece_bytes);
  std::uint64_t const end = offset + length;
  for (offset = next_data(descriptor_.get(), offset, end); offset < end;
       offset = next_data(descriptor_.get(), offset, end)) {
    std::size_t const bytes = std::min<std::uint64_t>(piece_bytes, end - offset);
    read_all(descriptor_.get(), buffer.get(), offset, bytes, the_file);
    // Not through the mapping: there missing memory is a fault, here an error.
    write_all(memory, buffer.get(), offset, bytes, the_memory);
    offset += bytes;
  }
}

std::uint64_t StorageFile::store(Pages pages, int memory, std::uint64_t offset, std::uint64_t length,
                                 std::uint64_t most) const {
  check_length();
  auto const wanted = std::make_unique_for_overwrite<std::byte[]>(piece_bytes);
  auto const present = std::make_unique_for_overwrite<std::byte[]>(piece_bytes);
  std::uint64_t const end = offset + length;
  for (std::uint64_t seen = 0; offset < end && seen < most;) {
    offset = std::min(next_data(memory, offset, end), next_data(descriptor_.get(), offset, end));
    if (offset == end) break;
    std::size_t const bytes = std::min<std::uint64_t>(piece_bytes, end - offset);
    read_all(memory, wanted.get(), offset, bytes, the_memory);
    if (pages == Pages::all) {
      write_all(descriptor_.get(), wanted.get(), offset, bytes, the_file);
    } else {
      read_all(descriptor_.get(), present.get(), offset, bytes, the_file);
      store_piece(wanted.get(), present.get(), offset, bytes);
    }
    offset += bytes;
    seen += bytes;
  }
  return offset;
}

/// Neighbouring pages are written by one call.
void StorageFile::store_piece(std::byte const* wanted, std::byte const* present, std::uint64_t offset,
                              std::size_t length) const {
  auto const differs = [&](std::size_t at) {
    return std::memcmp(wanted + at, present + at, std::min<std::size_t>(page_bytes, length - at)) != 0;
  };
  for (std::size_t begin = 0; begin < length; begin += page_bytes) {
    if (!differs(begin)) continue;
    std::size_t end = begin + page_bytes;
    while (end < length && differs(end)) end += page_bytes;
    end = std::min(end, length);
    write_all(descriptor_.get(), wanted + begin, offset + begin, end - begin, the_file);
    begin = end;
  }
}

void StorageFile::sync() const {
  if (::fdatasync(descriptor_.get()) != 0) fail(std::string("cannot write ") + the_file, errno);
}

void StorageFile::clear(std::uint64_t offset, std::uint64_t length) const {
  if (length == 0) return;
  // The file keeps its blocks: others could take them.
  if (::fallocate(descriptor_.get(), FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                  static_cast<off_t>(length)) == 0)
    return;
  auto const zeroes = std::make_unique<std::byte[]>(piece_bytes);
  for (std::uint64_t const end = offset + length; offset < end; offset += piece_bytes)
    write_all(descriptor_.get(), zeroes.get(), offset, std::min<std::uint64_t>(piece_bytes, end - offset),
              the_file);
}

}  // namespace mpixrma::nam
