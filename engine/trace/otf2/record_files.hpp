/// The records of the processes of a trace, read from their files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/trace/record.hpp"

namespace mpixrma::engine {

/// Records of one thread, in the order in which calls began; a call precedes the calls nested in it.
struct ThreadRecords {
  std::uint64_t thread = 0;
  std::uint64_t last_end = 0;  ///< the latest end of a call, in ticks
  std::vector<TraceRecord const*> records;

  void add(TraceRecord const& record);
  /// Whether the thread did nothing but execute requests of others.
  bool is_agent() const noexcept;
};

/// A process of the trace. A process without a file of records is known from the records of others only.
struct ProcessRecords {
  std::uint64_t process = 0;
  std::string host;
  TickConversion time;
  std::uint64_t lost = 0;
  std::set<std::uint64_t> peers;       ///< processes that its records name
  std::vector<ThreadRecords> threads;  ///< the first is the thread that opened the engine
};

/// Maps a file of records. Throws std::runtime_error if the file is not one.
class RecordFile {
 public:
  explicit RecordFile(std::string path);
  ~RecordFile() { unmap(); }
  RecordFile(RecordFile&& other) noexcept;
  RecordFile(RecordFile const&) = delete;
  RecordFile& operator=(RecordFile const&) = delete;

  ProcessRecords read() const;
  std::string_view host() const noexcept {
    return {header().host, ::strnlen(header().host, sizeof header().host)};
  }
  Cores const& cores() const noexcept { return header().cores; }
  /// Deletes the file. The results of read() refer to it, and must not be used afterwards.
  void remove() noexcept;

 private:
  TraceHeader const& header() const noexcept { return *reinterpret_cast<TraceHeader const*>(mapped_); }
  std::span<TraceRecord const> records() const noexcept;
  void unmap() noexcept;

  std::string path_;
  std::byte const* mapped_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Adds the processes that records name but that have no file; sorts all by their identity.
void complete_processes(std::vector<ProcessRecords>& processes);

}  // namespace mpixrma::engine
