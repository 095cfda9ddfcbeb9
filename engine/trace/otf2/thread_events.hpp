/// Writes the records of a thread as events of OTF2.
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "engine/trace/otf2/definitions.hpp"
#include "engine/trace/otf2/record_files.hpp"

namespace mpixrma::engine {

/// Indices of processes in the trace, by identity.
using ProcessIndices = std::unordered_map<std::uint64_t, std::uint32_t>;

class ThreadEvents {
 public:
  /// `time` converts the ticks of the records.
  ThreadEvents(OTF2_EvtWriter* writer, ProcessIndices const& indices, TickConversion time);
  ~ThreadEvents();
  ThreadEvents(ThreadEvents const&) = delete;
  ThreadEvents& operator=(ThreadEvents const&) = delete;

  void write(ThreadRecords const& thread);

 private:
  /// A call whose end is not written yet.
  struct Call {
    TraceRecord const* record;
    std::uint64_t end;
    OTF2_RegionRef region;
    std::uint64_t operation;  ///< number by which OTF2 matches the completion of an operation
  };
  /// An operation that a later wait completes at the target.
  struct AwaitedOperation {
    std::uint64_t sequence;
    std::uint64_t operation;
  };

  bool is_part_of_wait(TraceRecord const& record) const noexcept;
  void enter(TraceRecord const& record);
  void leave();
  void write_operation(TraceRecord const& record, std::uint64_t operation);
  void write_completion(Call const& call);
  void write_wait_end(Call const& call);
  OTF2_AttributeList* protocol_of(TraceRecord const& record);
  OTF2_AttributeList* attributes_of(TraceRecord const& record);

  OTF2_EvtWriter* writer_;
  ProcessIndices const& indices_;
  TickConversion time_;
  OTF2_AttributeList* attributes_;
  std::vector<Call> calls_;
  std::uint64_t operations_ = 0;
  std::unordered_map<std::uint64_t, std::deque<AwaitedOperation>> outstanding_;  ///< by target
};

}  // namespace mpixrma::engine
