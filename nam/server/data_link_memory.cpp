/// DataLink: the memory of a grant, which passes from one data process to the next.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "nam/process/log.hpp"
#include "nam/protocol/descriptors.hpp"
#include "nam/protocol/shortage.hpp"
#include "nam/protocol/socket.hpp"
#include "nam/server/data_link.hpp"

namespace mpixrma::nam {

namespace {

/// Throws Error(malformed) unless the descriptors are the files of the memory: the main process would end its
/// link to this process after a message with too many descriptors.
void check_memory(std::vector<FileDescriptor> const& passed) {
  bool const are_files = std::all_of(passed.begin(), passed.end(), [](FileDescriptor const& each) {
    struct stat status {};
    return ::fstat(each.get(), &status) == 0 && S_ISREG(status.st_mode);
  });
  if (passed.size() < 2 || passed.size() > 3 || !are_files)
    throw Error(ErrorCode::malformed, "the descriptors of a data process are not those of its memory");
}

}  // namespace

std::vector<FileDescriptor> DataLink::memory_for_process(std::optional<GrantFile::Opened> file) const {
  std::vector<FileDescriptor> memory;
  for (FileDescriptor const& each : memory_) memory.push_back(duplicate_of(each));
  if (file) memory.push_back(std::move(file->descriptor));
  // Must come last: the data process takes its socket from the end. Only this process can create a socket in
  // that directory.
  memory.push_back(bind_unix(field<std::string>(setup_, "adoption"), 0600));
  return memory;
}

void DataLink::take_memory(std::vector<FileDescriptor> passed) {
  check_memory(passed);
  memory_ = std::move(passed);
  hold_memory();
}

/// Passes the memory to the main process, which keeps it beyond the life of this one. If that fails, the data
/// process still keeps the memory.
void DataLink::hold_memory() {
  try {
    std::vector<FileDescriptor> held;
    for (FileDescriptor const& each : memory_) held.push_back(duplicate_of(each));
    main_process_.hold(field<std::string>(setup_, "grant"), std::move(held));
  } catch (Shortage const& error) {
    log(Severity::error, "the main process does not hold the memory of grant " +
                             field<std::string>(setup_, "grant") + ": " + error.what());
  }
}

/// Called once a second. The data process does not know which processes had mapped the memory before it
/// started. So it reuses that of windows that were evicted before when no process maps the grant.
void DataLink::release_evicted() {
  struct stat status {};
  // Memory to which other users are admitted: the check would withdraw that.
  if (::fstat(memory_.back().get(), &status) != 0 || (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) return;
  if (is_in_use({&memory_.back(), 1})) return;
  is_memory_inherited_ = false;
  connection_->post({{"op", "unmapped"}});
}

}  // namespace mpixrma::nam
