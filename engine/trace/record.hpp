/// The records of a trace as a process writes them while it runs: a file for each process, in directory
/// `records` of the trace. Each file consists of a header and of records of one size, so that it is readable
/// whenever the process ends. engine/trace/otf2 makes an OTF2 trace from the files of all processes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/cores.hpp"
#include "engine/trace/clock.hpp"

namespace mpixrma::engine {

enum class RecordKind : std::uint8_t {
  none,       ///< reserved, and not written yet
  operation,  ///< at the origin: the call that issued it
  wait,       ///< of the origin, for messages to a target
  execution   ///< at the target: requests of an origin, by the thread that executed them
};

/// As OpKind, with the updates that OTF2 distinguishes.
enum class TracedOp : std::uint8_t {
  put,
  get,
  accumulate,
  increment,
  swap,
  compare_and_swap,
  fetch_and_add,
  fetch_and_increment,
  fetch_and_accumulate,
  other  ///< a request of the library itself, such as a lock
};
inline constexpr std::size_t traced_op_count = 10;

/// TraceRecord::peer of requests that do not name their origin, those of the ring.
inline constexpr std::uint64_t unknown_peer = UINT64_MAX;

struct TraceRecord {
  static constexpr std::uint32_t per_chunk = 16384;  ///< the file grows by so many records

  std::uint64_t begin;     ///< ticks of TraceClock
  std::uint64_t end;       ///< likewise
  std::uint64_t peer;      ///< identity of the other process
  std::uint64_t bytes;     ///< at the target
  std::uint64_t sequence;  ///< position in the message stream: of an operation, or awaited by a wait; or 0
  std::uint64_t thread;    ///< this_thread()
  /// Stored last, by a single store.
  struct Tail {
    std::uint32_t count;  ///< requests of an execution, else 1
    TracedOp op;
    std::uint8_t protocol;  ///< Protocol, of an operation or execution
    std::uint8_t complete;  ///< operation: nonzero if it was complete when the call returned
    RecordKind kind;
  };
  alignas(8) Tail tail;
  std::uint64_t unused;
};
static_assert(sizeof(TraceRecord) == 64);

/// The beginning of the file.
struct TraceHeader {
  static constexpr std::uint64_t expected_magic = 0x3343'4152'5458'504d;  // "MPXTRAC3"
  std::uint64_t magic;
  std::uint64_t process;
  TraceTime opened;      ///< when the file was opened
  TraceTime latest;      ///< newest reading of both clocks; the file may still be in use
  std::uint64_t lost;    ///< records for which the file system had no room
  std::uint64_t thread;  ///< this_thread() of the thread that opened the engine
  char host[256];
  Cores cores;  ///< on which the thread that opened the engine may run
};
inline constexpr std::size_t trace_header_bytes = 65536;  ///< a multiple of every processor's page size
static_assert(sizeof(TraceHeader) <= trace_header_bytes);

}  // namespace mpixrma::engine
