#include "engine/trace/otf2/record_files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace mpixrma::engine {

bool ThreadRecords::is_agent() const noexcept {
  return std::ranges::all_of(
      records, [](TraceRecord const* record) { return record->tail.kind == RecordKind::execution; });
}

/// Records arrive as calls end, so nearly all belong at the end: only an outer call precedes earlier records.
void ThreadRecords::add(TraceRecord const& record) {
  auto const begins_before = [](TraceRecord const* a, TraceRecord const* b) {
    return a->begin != b->begin ? a->begin < b->begin : a->end > b->end;
  };
  last_end = std::max(last_end, record.end);
  if (records.empty() || !begins_before(&record, records.back())) {
    records.push_back(&record);
  } else {
    records.insert(std::ranges::upper_bound(records, &record, begins_before), &record);
  }
}

RecordFile::RecordFile(std::string path) : path_(std::move(path)) {
  int const fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (fd >= 0 && ::fstat(fd, &status) == 0 &&
      static_cast<std::size_t>(status.st_size) >= trace_header_bytes) {
    void* const mapped = ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ,
                                MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (mapped != MAP_FAILED) {
      mapped_ = static_cast<std::byte const*>(mapped);
      bytes_ = static_cast<std::size_t>(status.st_size);
    }
  }
  int const error = errno;
  if (fd >= 0) ::close(fd);
  if (mapped_ == nullptr && fd < 0) throw std::runtime_error(path_ + ": " + std::strerror(error));
  if (mapped_ == nullptr || header().magic != TraceHeader::expected_magic) {
    unmap();
    throw std::runtime_error(path_ + " is not a file of records of this version");
  }
}

RecordFile::RecordFile(RecordFile&& other) noexcept
    : path_(std::move(other.path_)), mapped_(std::exchange(other.mapped_, nullptr)), bytes_(other.bytes_) {}

void RecordFile::unmap() noexcept {
  if (mapped_ != nullptr) ::munmap(const_cast<std::byte*>(std::exchange(mapped_, nullptr)), bytes_);
}

void RecordFile::remove() noexcept {
  unmap();
  ::unlink(path_.c_str());
}

std::span<TraceRecord const> RecordFile::records() const noexcept {
  return {reinterpret_cast<TraceRecord const*>(mapped_ + trace_header_bytes),
          (bytes_ - trace_header_bytes) / sizeof(TraceRecord)};
}

ProcessRecords RecordFile::read() const {
  ProcessRecords found;
  found.process = header().process;
  found.host = host();
  found.time = {header().opened, header().latest};
  found.lost = header().lost;
  found.threads.push_back({header().thread, 0, {}});
  std::unordered_map<std::uint64_t, std::size_t> places{{header().thread, 0}};
  std::uint64_t peer = unknown_peer;  // that of the previous record
  for (TraceRecord const& record : records()) {
    if (record.tail.kind == RecordKind::none) continue;
    if (record.peer != peer && record.peer != unknown_peer) found.peers.insert(record.peer);
    peer = record.peer;
    auto const [place, is_new] = places.try_emplace(record.thread, found.threads.size());
    if (is_new) found.threads.push_back({record.thread, 0, {}});
    found.threads[place->second].add(record);
  }
  return found;
}

void complete_processes(std::vector<ProcessRecords>& processes) {
  std::set<std::uint64_t> known;
  std::set<std::uint64_t> named;
  for (ProcessRecords const& process : processes) {
    known.insert(process.process);
    named.insert(process.peers.begin(), process.peers.end());
  }
  for (std::uint64_t const process : named)
    if (!known.contains(process)) processes.push_back({process, "", {}, 0, {}, {ThreadRecords{}}});
  std::ranges::sort(processes, {}, &ProcessRecords::process);
}

}  // namespace mpixrma::engine
