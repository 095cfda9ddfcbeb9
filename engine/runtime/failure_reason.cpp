/// EnginePeerMemory: error texts of failed operations.
#include <cinttypes>
#include <cstdio>

#include "engine/runtime/peer_memory.hpp"

namespace mpixrma::engine {

namespace {

/// For memory that begins in the segment. Returns an empty text if the memory is contiguous and
/// completely inside the segment.
std::string overrun_text(SegmentInfo const& segment, TargetMemory const& memory) {
  std::uint64_t const left = segment.length - (memory.address - segment.base);
  char text[160];
  if (!memory.contiguous) {
    std::snprintf(text, sizeof text,
                  "the target layout reaches beyond the allocation at 0x%" PRIx64 " of %zu bytes",
                  segment.base, segment.length);
  } else if (memory.bytes > left) {
    std::snprintf(text, sizeof text,
                  "only %" PRIu64 " of %" PRIu64 " bytes lie inside the allocation at 0x%" PRIx64, left,
                  memory.bytes, segment.base);
  } else {
    return {};
  }
  return text;
}

}  // namespace

char const* name_of(ReportedOperation kind) noexcept {
  switch (kind) {
    case ReportedOperation::put: return "a put";
    case ReportedOperation::get: return "a get";
    case ReportedOperation::accumulate: return "an accumulate";
    case ReportedOperation::read_modify_write: return "a read-modify-write";
    case ReportedOperation::lock: return "a lock request";
    case ReportedOperation::unlock: return "the release of a lock";
    case ReportedOperation::unknown:
    case ReportedOperation::count_: break;
  }
  return "an operation";
}

std::string EnginePeerMemory::reason(std::uint64_t process, Status status, TargetMemory const& memory) {
  std::string text = to_string(status);
  bool const outside = status == Status::bad_address || status == Status::overrun;
  if (!outside || memory.bytes == 0) return text;
  Peer* const owner = peers_.find(process);
  if (owner == nullptr) return text;
  SegmentInfo segment{};
  bool const begins_inside = !failed(find_segment(*owner, memory.address, &segment)) &&
                             memory.address - segment.base < segment.length;
  peers_.release(*owner);
  if (!begins_inside) return text;
  if (status == Status::bad_address && !memory.contiguous)
    return "a part of the target layout is not mapped, or was freed";
  std::string const overrun = overrun_text(segment, memory);
  return overrun.empty() ? text : overrun;
}

}  // namespace mpixrma::engine
