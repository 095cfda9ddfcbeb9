/// Definitions of a trace in OTF2: names, hosts, processes, threads, and the kinds of events.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/op/statistics.hpp"
#include "engine/trace/otf2/otf2_error.hpp"
#include "engine/trace/otf2/record_files.hpp"

namespace mpixrma::engine {

/// Attributes of events.
enum class TraceAttribute : std::uint32_t { protocol, rank, requests, bytes };
inline constexpr std::size_t trace_attribute_count = 4;

/// Regions: calls that issue operations, by TracedOp; then executions, by TracedOp; then waits.
constexpr OTF2_RegionRef issue_region(TracedOp op) noexcept { return static_cast<OTF2_RegionRef>(op); }
constexpr OTF2_RegionRef execution_region(TracedOp op) noexcept {
  return static_cast<OTF2_RegionRef>(traced_op_count + static_cast<std::size_t>(op));
}
inline constexpr OTF2_RegionRef wait_region = 2 * traced_op_count;

inline constexpr OTF2_RmaWinRef trace_window = 0;

/// The number of the thread's location.
constexpr OTF2_LocationRef location_of(std::size_t process, std::size_t thread) noexcept {
  return static_cast<OTF2_LocationRef>(process) << 16 | thread;
}

/// Strings that events refer to have fixed numbers.
constexpr OTF2_StringRef protocol_string(std::uint8_t protocol) noexcept { return protocol; }

/// The first and last time of a trace, in nanoseconds of CLOCK_REALTIME.
struct TraceTimes {
  std::uint64_t first;
  std::uint64_t last;
};

/// A location and the number of its events.
using EventCounts = std::map<OTF2_LocationRef, std::uint64_t>;

void write_definitions(OTF2_GlobalDefWriter* writer, std::span<ProcessRecords const> processes,
                       TraceTimes times, EventCounts const& events);

}  // namespace mpixrma::engine
