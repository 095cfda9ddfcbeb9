#include "nam/protocol/descriptors.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "nam/protocol/error.hpp"
#include "nam/protocol/shortage.hpp"

namespace mpixrma::nam {

namespace {

std::string path_of(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

/// The calling thread accesses files as this user for the lifetime of the object.
class FileUser {
 public:
  explicit FileUser(uid_t uid) noexcept { ::setfsuid(uid); }
  ~FileUser() { ::setfsuid(::geteuid()); }
  FileUser(FileUser const&) = delete;
  FileUser& operator=(FileUser const&) = delete;
};

}  // namespace

engine::FileDescriptor duplicate_of(int descriptor) {
  engine::FileDescriptor made(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (!made) throw_unavailable("cannot duplicate a descriptor", errno);
  return made;
}

engine::FileDescriptor reopened(int descriptor) {
  std::string const path = path_of(descriptor);
  engine::FileDescriptor opened(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!opened) throw Error(ErrorCode::unavailable, "cannot open " + path + ": " + std::strerror(errno));
  return opened;
}

void restrict_to_owner(int memory) noexcept { (void)::fchmod(memory, S_IRUSR | S_IWUSR); }

void admit_others(int memory) noexcept {
  struct stat status {};
  if (::fstat(memory, &status) != 0) return;
  FileUser const user(status.st_uid);
  (void)::fchmod(memory, S_IRUSR | S_IWUSR | S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH);
}

/// The kernel grants a write lease only to the sole opener of a file. Closing the file releases the lease.
bool is_open_elsewhere(int memory) noexcept {
  struct stat status {};
  if (::fstat(memory, &status) != 0) return false;
  FileUser const user(status.st_uid);
  restrict_to_owner(memory);
  engine::FileDescriptor const own(::open(path_of(memory).c_str(), O_RDWR | O_CLOEXEC));
  if (!own) return errno != EACCES;  // a shortage, of descriptors or memory, tells nothing about others
  // A process that opens the memory at this moment, as root may, breaks the lease. The default signal for
  // that would end this process.
  (void)::fcntl(own.get(), F_SETSIG, SIGURG);
  return ::fcntl(own.get(), F_SETLEASE, F_WRLCK) != 0 && errno == EAGAIN;
}

}  // namespace mpixrma::nam
