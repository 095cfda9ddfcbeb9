/// DataLink: the end of a grant, and its memory that clients still use.
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "nam/process/log.hpp"
#include "nam/server/data_link.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::uint64_t largest_release = 1u << 30;  ///< per call: other users wait meanwhile
constexpr std::chrono::seconds longest_ordered_end{3};

}  // namespace

std::uint64_t DataLink::occupied_bytes() const {
  if (!has_ended()) return field<std::uint64_t>(setup_, "bytes");
  struct stat status {};
  if (memory_.empty() || ::fstat(memory_.back().get(), &status) != 0) return 0;
  return static_cast<std::uint64_t>(status.st_blocks) * 512;
}

/// Usually the process has released the memory already. Memory that clients touch later is charged to their
/// own control groups.
bool DataLink::release_memory() {
  if (occupied_bytes() == 0) return !is_in_use(memory_);
  auto const bytes = field<std::uint64_t>(setup_, "bytes");
  if (next_release_offset_ >= bytes) next_release_offset_ = 0;
  std::uint64_t const part = std::min(largest_release, bytes - next_release_offset_);
  engine::release_pages(memory_.back(), next_release_offset_, part);
  next_release_offset_ += part;
  return occupied_bytes() == 0 && !is_in_use(memory_);
}

/// Whether other processes have the memory, or its control block, open. Called once a second; also true if
/// that is not known yet. Includes use by a process to which a client has passed them: that process can touch
/// pages at any time.
bool DataLink::is_in_use(std::span<FileDescriptor const> memory) {
  if (memory_.size() < 2) return false;
  auto const now = std::chrono::steady_clock::now();
  if (now < next_scan_) return true;
  bool is_open = true;
  try {
    is_open = std::count_if(memory.begin(), memory.end(), [this](FileDescriptor const& each) {
                return main_process_.is_open_elsewhere(each);
              }) != 0;
  } catch (Error const&) {  // the main process has gone
  }
  // A client that holds many locks on the file makes each close() of the file slow.
  auto const end = std::chrono::steady_clock::now();
  next_scan_ = end + std::max<std::chrono::nanoseconds>(std::chrono::milliseconds(900), 50 * (end - now));
  return is_open;
}

void DataLink::end(WindowsAtEnd windows) {
  if (std::exchange(ending_, true)) return;
  sessions_.refuse_all(Error(ErrorCode::not_found, "the grant has ended"));
  bool const is_only_in_memory = windows == WindowsAtEnd::kept && !volatile_ && has_memory();
  if (is_only_in_memory && !failure_.empty()) report_loss(failure_);
  must_store_ = is_only_in_memory && failure_.empty() && !has_process_that_stores();
  if (!must_store_) return end_process(windows);
  restart_ = {};
  tick();
}

void DataLink::end_leftover() {
  auto const grant = field<std::string>(setup_, "grant");
  struct stat status {};
  if (has_memory() && ::fstat(memory_.back().get(), &status) == 0)
    setup_["bytes"] = static_cast<std::uint64_t>(status.st_size);
  bool has_process = false;
  try {
    has_process = adopt();
    if (!has_process) ::unlink(field<std::string>(setup_, "adoption").c_str());
  } catch (Error const& error) {
    log(Severity::error, std::string("a data process without a grant may remain: ") + error.what());
  }
  if (has_process || has_memory())
    log(Severity::warning, "grant " + grant + " is not in the catalog, and is ended");
  end(WindowsAtEnd::discarded);
  // A child of the main process that cannot be adopted does not use the memory for long, but it may stand.
  if (!has_process) main_process_.kill(grant, 0);
}

/// A process that has just started must read the catalog's windows first; an adopted one has them.
bool DataLink::has_process_that_stores() const noexcept {
  return connection_ && !connection_->has_lost_peer() && (ready_ || adopting_);
}

void DataLink::end_process(WindowsAtEnd windows) {
  bool const keeps = windows == WindowsAtEnd::kept;
  main_process_.drop(field<std::string>(setup_, "grant"));
  if (connection_) connection_->post({{"op", "end"}, {"keep_windows", keeps}});
  awaits_stored_ = keeps && connection_ && !volatile_ && has_memory() && failure_.empty();
  if (!keeps) end_deadline_ = std::chrono::steady_clock::now() + longest_ordered_end;
}

/// A process that was told to end while it started reports that it is ready all the same.
void DataLink::on_ready_at_end() {
  if (std::exchange(must_store_, false) && complete_file()) end_process(WindowsAtEnd::kept);
}

void DataLink::abandon_storing() {
  if (!std::exchange(must_store_, false)) return;
  report_loss("no data process could be started");
  end_process(WindowsAtEnd::kept);
  awaits_stored_ = false;
  if (!connection_) events_.on_ended();
}

void DataLink::report_loss(std::string const& why) const {
  log(Severity::error, "grant " + field<std::string>(setup_, "grant") +
                           " loses what was written to its windows and not persisted: " + why);
}

void DataLink::enforce_end() {
  if (!connection_ || !end_deadline_ || std::chrono::steady_clock::now() < *end_deadline_) return;
  log(Severity::warning, "data process " + std::to_string(pid_) + " of grant " +
                             field<std::string>(setup_, "grant") + " does not end, and is killed");
  main_process_.kill(field<std::string>(setup_, "grant"), pid_);
  end_deadline_ = std::chrono::steady_clock::now() + longest_ordered_end;
}

}  // namespace mpixrma::nam
