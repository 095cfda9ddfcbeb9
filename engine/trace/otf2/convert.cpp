#include "engine/trace/otf2/convert.hpp"

#include <otf2/OTF2_Pthread_Locks.h>
#include <otf2/otf2.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <stdexcept>
#include <vector>

#include "engine/trace/conversion.hpp"
#include "engine/trace/otf2/chunk_memory.hpp"
#include "engine/trace/otf2/definitions.hpp"
#include "engine/trace/otf2/parallel.hpp"
#include "engine/trace/otf2/record_files.hpp"
#include "engine/trace/otf2/thread_events.hpp"

namespace mpixrma::engine {

namespace {

/// The records of a trace, with one clock for each host.
struct Records {
  std::vector<RecordFile> files;  ///< keep the records mapped
  std::vector<ProcessRecords> processes;
  ProcessIndices indices;
  Cores cores;  ///< cores of this host on which the processes of the trace ran before they ended
};

Cores cores_of_host(std::vector<RecordFile> const& files) {
  char host[sizeof TraceHeader::host] = "";
  ::gethostname(host, sizeof host - 1);
  Cores cores;
  for (RecordFile const& file : files)
    if (file.host() == host) cores |= file.cores();
  return cores;
}

Records read_records(std::string const& directory) {
  Records found;
  for (auto const& file : std::filesystem::directory_iterator(directory)) {
    if (!file.path().filename().string().starts_with('.')) found.files.emplace_back(file.path().string());
  }
  if (found.files.empty()) throw std::runtime_error("there are no records");
  found.cores = cores_of_host(found.files);
  found.processes.resize(found.files.size());
  for_each_in_parallel(found.files.size(), found.cores,
                       [&](std::size_t i) { found.processes[i] = found.files[i].read(); });
  complete_processes(found.processes);
  // All processes of a host use the conversion with the longest interval.
  std::map<std::string, TickConversion> conversions;
  for (ProcessRecords const& process : found.processes) {
    TickConversion& longest = conversions[process.host];
    if (process.time.ticks() >= longest.ticks()) longest = process.time;
  }
  for (std::size_t i = 0; i < found.processes.size(); ++i) {
    ProcessRecords& process = found.processes[i];
    found.indices[process.process] = static_cast<std::uint32_t>(i);
    process.time = conversions[process.host];
  }
  return found;
}

TraceTimes times_of(std::vector<ProcessRecords> const& processes) {
  TraceTimes times{UINT64_MAX, 0};
  for (ProcessRecords const& process : processes)
    for (ThreadRecords const& thread : process.threads) {
      if (thread.records.empty()) continue;
      times.first = std::min(times.first, process.time(thread.records.front()->begin));
      times.last = std::max(times.last, process.time(thread.last_end));
    }
  return times.first <= times.last ? times : TraceTimes{0, 0};
}

/// OTF2 returns a null pointer after an error.
void require(void const* object) {
  if (object == nullptr) check_otf2(OTF2_ERROR_INVALID);
}

/// An archive that is being written.
class Archive {
 public:
  explicit Archive(std::string const& directory) {
    constexpr std::uint64_t event_chunk = 1 << 20;
    constexpr std::uint64_t definition_chunk = 4 << 20;
    archive_ = OTF2_Archive_Open(directory.c_str(), "traces", OTF2_FILEMODE_WRITE, event_chunk,
                                 definition_chunk, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    require(archive_);
    static OTF2_FlushCallbacks const callbacks{
        [](void*, OTF2_FileType, OTF2_LocationRef, void*, bool) -> OTF2_FlushType { return OTF2_FLUSH; },
        nullptr};
    check_otf2(OTF2_Archive_SetFlushCallbacks(archive_, &callbacks, nullptr));
    check_otf2(limit_chunk_memory(archive_));
    check_otf2(OTF2_Archive_SetSerialCollectiveCallbacks(archive_));
    check_otf2(OTF2_Pthread_Archive_SetLockingCallbacks(archive_, nullptr));
    check_otf2(OTF2_Archive_SetCreator(archive_, "MPIX-RMA"));
  }
  /// Does not close the archive: after an error, OTF2 would crash.
  ~Archive() = default;
  Archive(Archive const&) = delete;
  Archive& operator=(Archive const&) = delete;

  EventCounts write_events(Records const& records) {
    EventCounts counts;
    for (std::size_t i = 0; i < records.processes.size(); ++i)
      for (std::size_t thread = 0; thread < records.processes[i].threads.size(); ++thread)
        counts[location_of(i, thread)] = 0;  // the threads below may only change existing entries
    check_otf2(OTF2_Archive_OpenEvtFiles(archive_));
    for_each_in_parallel(records.processes.size(), records.cores, [&](std::size_t i) {
      ProcessRecords const& process = records.processes[i];
      for (std::size_t thread = 0; thread < process.threads.size(); ++thread) {
        OTF2_LocationRef const location = location_of(i, thread);
        counts.at(location) = write_thread(location, process.threads[thread], records.indices, process.time);
      }
    });
    check_otf2(OTF2_Archive_CloseEvtFiles(archive_));
    return counts;
  }

  void write_definitions(Records const& records, EventCounts const& counts) {
    check_otf2(OTF2_Archive_OpenDefFiles(archive_));
    for (auto const& [location, count] : counts) {
      OTF2_DefWriter* const writer = OTF2_Archive_GetDefWriter(archive_, location);
      require(writer);
      check_otf2(OTF2_Archive_CloseDefWriter(archive_, writer));
    }
    check_otf2(OTF2_Archive_CloseDefFiles(archive_));
    OTF2_GlobalDefWriter* const writer = OTF2_Archive_GetGlobalDefWriter(archive_);
    require(writer);
    engine::write_definitions(writer, records.processes, times_of(records.processes), counts);
  }

  void close() { check_otf2(OTF2_Archive_Close(archive_)); }

 private:
  /// Returns the number of events.
  std::uint64_t write_thread(OTF2_LocationRef location, ThreadRecords const& thread,
                             ProcessIndices const& indices, TickConversion time) {
    OTF2_EvtWriter* const writer = OTF2_Archive_GetEvtWriter(archive_, location);
    require(writer);
    ThreadEvents(writer, indices, time).write(thread);
    std::uint64_t events = 0;
    check_otf2(OTF2_EvtWriter_GetNumberOfEvents(writer, &events));
    check_otf2(OTF2_Archive_CloseEvtWriter(archive_, writer));
    return events;
  }

  OTF2_Archive* archive_;
};

/// The directory for the archive until the archive is complete. Removed at the end, and before it is used, in
/// case that an earlier conversion was interrupted.
class UnfinishedTrace {
 public:
  explicit UnfinishedTrace(std::string const& records) : path_(records + "/.unfinished") {
    std::filesystem::remove_all(path_);
  }
  ~UnfinishedTrace() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  UnfinishedTrace(UnfinishedTrace const&) = delete;
  UnfinishedTrace& operator=(UnfinishedTrace const&) = delete;

  std::string path() const { return path_.string(); }
  /// Moves the anchor file last, because the trace exists once the anchor file does.
  void move_to(std::filesystem::path const& trace) const {
    for (char const* const name : {"traces", "traces.def", "traces.otf2"})
      std::filesystem::rename(path_ / name, trace / name);
  }

 private:
  std::filesystem::path path_;
};

}  // namespace

void convert_trace(std::string const& trace) {
  std::string const directory = record_directory(trace);
  Records records = read_records(directory);
  UnfinishedTrace const unfinished(directory);
  watch_otf2_errors();
  Archive archive(unfinished.path());
  archive.write_definitions(records, archive.write_events(records));
  archive.close();
  unfinished.move_to(trace);
  // In parallel, because freeing the pages of a large file takes long.
  for_each_in_parallel(records.files.size(), records.cores,
                       [&](std::size_t i) { records.files[i].remove(); });
  std::filesystem::remove_all(directory);
}

}  // namespace mpixrma::engine

/// The entry point for the engine, which loads this module on demand.
extern "C" __attribute__((visibility("default"))) int mpix_trace_convert(char const* trace, char* why,
                                                                         std::size_t bytes) {
  try {
    mpixrma::engine::convert_trace(trace);
    return 0;
  } catch (std::exception const& error) {
    std::snprintf(why, bytes, "%s", error.what());
    return -1;
  }
}
