#include "engine/trace/otf2/record_files.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>

namespace mpixrma::engine {

bool ThreadRecords::is_agent() const noexcept {
  return std::ranges::all_of(
      records, [](TraceRecord const* record) { return record->tail.kind == RecordKind::execution; });
}

RecordFile::RecordFile(std::string const& path) {
  int const fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (fd >= 0 && ::fstat(fd, &status) == 0 &&
      static_cast<std::size_t>(status.st_size) >= trace_header_bytes) {
    void* const mapped =
        ::mmap(nullptr, static_cast<std::size_t>(status.st_size), PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped != MAP_FAILED) {
      mapped_ = static_cast<std::byte const*>(mapped);
      bytes_ = static_cast<std::size_t>(status.st_size);
    }
  }
  int const error = errno;
  if (fd >= 0) ::close(fd);
  if (mapped_ == nullptr && fd < 0) throw std::runtime_error(path + ": " + std::strerror(error));
  if (mapped_ == nullptr || header().magic != TraceHeader::expected_magic) {
    if (mapped_ != nullptr) ::munmap(const_cast<std::byte*>(mapped_), bytes_);
    throw std::runtime_error(path + " is not a file of records of this version");
  }
}

RecordFile::RecordFile(RecordFile&& other) noexcept
    : mapped_(std::exchange(other.mapped_, nullptr)), bytes_(other.bytes_) {}

RecordFile::~RecordFile() {
  if (mapped_ != nullptr) ::munmap(const_cast<std::byte*>(mapped_), bytes_);
}

std::span<TraceRecord const> RecordFile::records() const noexcept {
  return {reinterpret_cast<TraceRecord const*>(mapped_ + trace_header_bytes),
          (bytes_ - trace_header_bytes) / sizeof(TraceRecord)};
}

ProcessRecords RecordFile::read() const {
  ProcessRecords found;
  found.process = header().process;
  found.host.assign(header().host, ::strnlen(header().host, sizeof header().host));
  found.time = {header().opened, header().latest};
  found.lost = header().lost;
  found.threads.push_back({header().thread, {}});
  std::unordered_map<std::uint64_t, std::size_t> places{{header().thread, 0}};
  for (TraceRecord const& record : records()) {
    if (record.tail.kind == RecordKind::none) continue;
    auto const [place, is_new] = places.try_emplace(record.thread, found.threads.size());
    if (is_new) found.threads.push_back({record.thread, {}});
    found.threads[place->second].records.push_back(&record);
  }
  for (ThreadRecords& thread : found.threads)
    std::ranges::stable_sort(thread.records, [](TraceRecord const* a, TraceRecord const* b) {
      return a->begin != b->begin ? a->begin < b->begin : a->end > b->end;
    });
  return found;
}

void complete_processes(std::vector<ProcessRecords>& processes) {
  std::set<std::uint64_t> known;
  std::set<std::uint64_t> named;
  for (ProcessRecords const& process : processes) {
    known.insert(process.process);
    for (ThreadRecords const& thread : process.threads)
      for (TraceRecord const* record : thread.records)
        if (record->peer != unknown_peer) named.insert(record->peer);
  }
  for (std::uint64_t const process : named)
    if (!known.contains(process)) processes.push_back({process, "", {}, 0, {ThreadRecords{}}});
  std::ranges::sort(processes, {}, &ProcessRecords::process);
}

}  // namespace mpixrma::engine
