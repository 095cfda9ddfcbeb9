#include "engine/trace/recorder.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>

#include "engine/trace/conversion.hpp"

namespace mpixrma::engine {

namespace {

constexpr std::size_t chunk_bytes = TraceRecord::per_chunk * sizeof(TraceRecord);

TracedOp traced(RmaOp const& operation) noexcept {
  if (operation.is_update()) return traced_update(operation.reduce_op, Fetch{operation.fetches()});
  return operation.is_put() ? TracedOp::put : TracedOp::get;
}

void fill_in(TraceHeader& header, std::uint64_t process, TraceTime opened) noexcept {
  header.process = process;
  header.opened = header.latest = opened;
  header.thread = this_thread();
  ::gethostname(header.host, sizeof header.host - 1);
  header.cores = cores_of_thread();
  header.magic = TraceHeader::expected_magic;
}

/// Allocates part of the file in the file system, so that no store to it can fail, and maps the part.
void* map_part(int fd, std::size_t begin, std::size_t bytes) noexcept {
  if (int const error = ::posix_fallocate(fd, static_cast<off_t>(begin), static_cast<off_t>(bytes))) {
    errno = error;
    return nullptr;
  }
  void* const mapped =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, static_cast<off_t>(begin));
  if (mapped == MAP_FAILED) return nullptr;
#ifdef MADV_POPULATE_WRITE
  // Else each page costs a fault at its first record, even with MAP_POPULATE, which maps shared pages without
  // write permission.
  (void)::madvise(mapped, bytes, MADV_POPULATE_WRITE);
#endif
  return mapped;
}

/// The path of the module beside the engine's library.
std::string own_module() {
  Dl_info library{};
  if (::dladdr(reinterpret_cast<void const*>(&Recorder::open), &library) == 0) return "";
  return trace_module(std::filesystem::path(library.dli_fname).parent_path().string());
}

std::string file_of(std::string const& records, std::uint64_t process) {
  char name[32];
  std::snprintf(name, sizeof name, "/%016llx", static_cast<unsigned long long>(process));
  return records + name;
}

}  // namespace

std::unique_ptr<Recorder> Recorder::open(char const* directory, std::uint64_t process, Log const& log) {
  bool const is_first = static_cast<std::uint32_t>(process) == 0;  // only rank 0 logs the reason
  auto const refuse = [&](std::string const& reason) {
    if (is_first) log.write(LogLevel::error, "no trace is written to %s: %s", directory, reason.c_str());
    return nullptr;
  };
  if (::access(own_module().c_str(), R_OK) != 0) return refuse("this build of the library has no OTF2");
  std::string const records = record_directory(directory);
  if (::access(trace_anchor(directory).c_str(), F_OK) == 0) return refuse("it has a trace already");
  auto const fails = [](std::string const& name) {
    return ::mkdir(name.c_str(), 0777) != 0 && errno != EEXIST;
  };
  if (fails(directory) || fails(records)) return refuse(std::strerror(errno));
  // An existing file has records of an earlier job that were not converted.
  int const fd = ::open(file_of(records, process).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0)
    return refuse(errno == EEXIST ? "it has records of an earlier job, which 'mpix-rma timeline' converts"
                                  : std::strerror(errno));
  void* const mapped = lock_records(fd) ? map_part(fd, 0, trace_header_bytes) : nullptr;
  if (mapped == nullptr) {
    std::string const reason = std::strerror(errno);
    ::close(fd);
    return refuse(reason);
  }
  auto* const header = new (mapped) TraceHeader{};
  fill_in(*header, process, TraceClock().read_both());
  return std::unique_ptr<Recorder>(new Recorder(directory, fd, header, log));
}

bool Recorder::extend(Chunk const* full) noexcept try {
  std::lock_guard const held(lock_);
  if (current_.load(std::memory_order_relaxed) != full) return true;  // another thread has extended the file
  std::size_t const begin = trace_header_bytes + chunks_.size() * chunk_bytes;
  void* const mapped = map_part(fd_, begin, chunk_bytes);
  if (mapped == nullptr) {
    if (lost_.load(std::memory_order_relaxed) == 0)
      log_.write(LogLevel::error, "the trace in %s is incomplete: %s", directory_.c_str(),
                 std::strerror(errno));
    return false;
  }
  header_->latest = clock_.read_both();
  chunks_.push_back(std::unique_ptr<Chunk>(new Chunk{static_cast<TraceRecord*>(mapped), 0}));
  current_.store(chunks_.back().get(), std::memory_order_release);  // pairs with the acquire in reserve()
  return true;
} catch (std::bad_alloc const&) {
  return false;
}

TraceRecord* Recorder::reserve_in_new_chunk() noexcept {
  for (;;) {
    Chunk* const chunk = current_.load(std::memory_order_acquire);  // pairs with the release in extend()
    if (chunk->used.load(std::memory_order_relaxed) < TraceRecord::per_chunk) {
      std::uint32_t const place = chunk->used.fetch_add(1, std::memory_order_relaxed);
      if (place < TraceRecord::per_chunk) return &chunk->records[place];
    }
    // Once the file system is full, no call tries again, nor increments `used` of the last chunk.
    if (lost_.load(std::memory_order_relaxed) == 0 && extend(chunk)) continue;
    current_.store(&full_, std::memory_order_relaxed);
    full_.used.store(TraceRecord::per_chunk, std::memory_order_relaxed);  // else it may wrap after many calls
    lost_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
}

void Recorder::add_operation(std::uint64_t begin, std::uint64_t peer, Protocol protocol,
                             RmaOp const& operation, Issued const& issued) noexcept {
  add(begin, peer, [&](TraceRecord& record) {
    record.bytes = operation.target_layout.size();
    record.sequence = issued.sequence;
    return TraceRecord::Tail{1, traced(operation), static_cast<std::uint8_t>(protocol),
                             static_cast<std::uint8_t>(issued.complete ? 1 : 0), RecordKind::operation};
  });
}

void Recorder::add_appended(std::uint64_t begin, std::uint64_t peer, RunOperation const& operation,
                            std::uint64_t sequence) noexcept {
  add(begin, peer, [&](TraceRecord& record) {
    record.bytes = operation.bytes;
    record.sequence = sequence;
    TracedOp const op =
        operation.kind == OpKind::put ? TracedOp::put : traced_update(operation.reduce_op, Fetch::no);
    return TraceRecord::Tail{1, op, static_cast<std::uint8_t>(Protocol::message), 1, RecordKind::operation};
  });
}

void Recorder::add_wait(std::uint64_t begin, std::uint64_t peer, std::uint64_t sequence) noexcept {
  add(begin, peer, [&](TraceRecord& record) {
    record.sequence = sequence;
    return TraceRecord::Tail{1, TracedOp::other, 0, 1, RecordKind::wait};
  });
}

void Recorder::add_execution(std::uint64_t begin, Execution const& execution) noexcept {
  add(begin, execution.peer, [&](TraceRecord& record) {
    record.bytes = execution.bytes;
    return TraceRecord::Tail{static_cast<std::uint32_t>(execution.requests), execution.op,
                             static_cast<std::uint8_t>(execution.protocol), 1, RecordKind::execution};
  });
}

void Recorder::close_file() noexcept {
  for (auto const& chunk : chunks_) ::munmap(chunk->records, chunk_bytes);
  ::munmap(header_, trace_header_bytes);
  ::close(fd_);  // ends the lock, too
}

Recorder::~Recorder() {
  std::uint64_t const lost = lost_.load(std::memory_order_relaxed);
  if (lost != 0)
    log_.write(LogLevel::error, "the trace in %s lacks the last %llu records of this process",
               directory_.c_str(), static_cast<unsigned long long>(lost));
  header_->lost = lost;
  header_->latest = clock_.read_both();
  close_file();
  std::string const failure = convert_trace_if_last(directory_, own_module());
  if (!failure.empty())
    log_.write(LogLevel::error, "the trace in %s is not converted to OTF2: %s; its records stay there",
               directory_.c_str(), failure.c_str());
}

}  // namespace mpixrma::engine
