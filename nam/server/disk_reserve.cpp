#include "nam/server/disk_reserve.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {

namespace {

constexpr off_t reserved_bytes = 4 << 20;

/// Twice the reserve, so that space that was freed for others does not go to the reserve at once.
bool has_room(std::filesystem::path const& directory) {
  struct statvfs disk {};
  return ::statvfs(directory.c_str(), &disk) == 0 &&
         disk.f_bavail * disk.f_frsize >= 2 * static_cast<unsigned long>(reserved_bytes);
}

}  // namespace

bool DiskReserve::ensure() noexcept {
  if (reserved_) return true;
  engine::FileDescriptor const file(
      ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) return false;
  bool const is_there = status.st_size == reserved_bytes && status.st_blocks * 512 >= reserved_bytes;
  reserved_ =
      is_there || (has_room(file_.parent_path()) && ::posix_fallocate(file.get(), 0, reserved_bytes) == 0);
  if (!reserved_) (void)::unlink(file_.c_str());
  return reserved_;
}

bool DiskReserve::release() noexcept {
  bool const was_there = ::unlink(file_.c_str()) == 0;
  reserved_ = false;
  return was_there;
}

}  // namespace mpixrma::nam
