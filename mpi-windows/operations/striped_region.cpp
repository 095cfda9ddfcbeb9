#include "mpi-windows/operations/striped_region.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <new>
#include <vector>

#include "mpi-windows/operations/operation.hpp"

namespace mpixrma::windows {

namespace {

using engine::Layout;
using engine::LayoutCursor;
using engine::LayoutRun;
using engine::OwnedLayout;

/// An operation is issued in portions of about this number of runs at the target, counted after the split.
constexpr std::size_t max_runs = 1u << 16;

/// A part of one side of an operation: contiguous runs in the order of the data.
class RunList {
 public:
  void add(LayoutRun run) {
    bytes_ += run.length;
    if (!runs_.empty() &&
        runs_.back().offset + static_cast<std::ptrdiff_t>(runs_.back().length) == run.offset) {
      runs_.back().length += run.length;
    } else {
      runs_.push_back(run);
    }
  }
  bool is_empty() const noexcept { return runs_.empty(); }

  /// Returns the layout relative to the first run, which is at `*begin`.
  OwnedLayout finish(std::ptrdiff_t* begin) {
    *begin = runs_.empty() ? 0 : runs_.front().offset;
    for (LayoutRun& run : runs_) run.offset -= *begin;
    OwnedLayout layout(Layout{bytes_, {}, runs_});
    runs_.clear();
    bytes_ = 0;
    return layout;
  }

 private:
  std::vector<LayoutRun> runs_;
  std::size_t bytes_ = 0;
};

/// The runs of an operation that lie in one part of a striped region, and the corresponding runs of the
/// origin's buffers.
struct PartRuns {
  RunList target;
  RunList origin;
  RunList result;
};

/// Splits an operation at the boundaries of chunks.
class ChunkSplitter {
 public:
  /// `origin` and `result` are empty for an unused side.
  ChunkSplitter(StripedRegion const& region, std::uint64_t begin, Layout const& target, Layout const& origin,
                Layout const& result)
      : region_(region),
        begin_(begin),
        target_(target),
        origin_(origin),
        result_(result),
        parts_(region.parts.size()) {}

  /// Splits the next runs among all parts. Returns false if nothing was left.
  bool next() {
    if (target_.remaining() == 0) return false;
    for (std::size_t runs = 0; target_.remaining() != 0 && runs < max_runs;) {
      LayoutRun const run = target_.next();
      for (std::size_t done = 0; done < run.length; ++runs)
        done += append_chunk(begin_ + static_cast<std::uint64_t>(run.offset) + done, run.length - done);
    }
    return true;
  }
  PartRuns& runs_of(std::size_t part) noexcept { return parts_[part]; }

 private:
  /// Appends the bytes from `offset` on that are in one chunk, at most `most` bytes, to the runs of the part
  /// that has the chunk. Returns their number.
  std::size_t append_chunk(std::uint64_t offset, std::size_t most) {
    std::uint64_t const chunk = offset / region_.chunk_bytes;
    std::uint64_t const within = offset % region_.chunk_bytes;
    auto const bytes = static_cast<std::size_t>(std::min<std::uint64_t>(most, region_.chunk_bytes - within));
    std::uint64_t const part_offset = chunk / parts_.size() * region_.chunk_bytes + within;
    PartRuns& part = parts_[chunk % parts_.size()];
    part.target.add({static_cast<std::ptrdiff_t>(part_offset), bytes});
    append_runs(origin_, bytes, part.origin);
    append_runs(result_, bytes, part.result);
    return bytes;
  }
  /// Does nothing if the operation lacks the side `from`.
  static void append_runs(LayoutCursor& from, std::size_t bytes, RunList& to) {
    if (from.remaining() == 0) return;
    while (bytes != 0) {
      LayoutRun const run = from.next(bytes);
      to.add(run);
      bytes -= run.length;
    }
  }

  StripedRegion const& region_;
  std::uint64_t begin_;
  LayoutCursor target_;
  LayoutCursor origin_;
  LayoutCursor result_;
  std::vector<PartRuns> parts_;
};

/// Whether each element lies within one chunk, whose size is a multiple of the elements' size.
bool chunks_hold_whole_elements(StripedRegion const& region, std::uint64_t begin, Layout const& target,
                                std::size_t element) {
  LayoutCursor cursor(target);
  std::uint64_t chunk = 0;  // of the byte before
  for (std::size_t position = 0; cursor.remaining() != 0;) {
    LayoutRun const run = cursor.next();
    std::uint64_t const first = begin + static_cast<std::uint64_t>(run.offset);
    bool const within = position % element != 0;  // the run continues an element
    if (within && first / region.chunk_bytes != chunk) return false;
    std::uint64_t const left = region.chunk_bytes - first % region.chunk_bytes;
    if (left < run.length && (position + left) % element != 0) return false;
    chunk = (first + run.length - 1) / region.chunk_bytes;
    position += run.length;
  }
  return true;
}

/// Returns the layout of the origin's buffer, empty if the operation has none; result_of() likewise.
Layout origin_of(engine::RmaOp const& operation) {
  return operation.operands() != 0 || operation.is_get() ? operation.origin_layout : Layout{};
}
Layout result_of(engine::RmaOp const& operation) {
  return operation.result != nullptr ? operation.result_layout : Layout{};
}

/// Returns the unit in bytes that a chunk boundary must not split.
std::size_t element_of(engine::RmaOp const& operation) {
  return operation.is_update() ? std::max<std::size_t>(engine::element_size(operation.type), 1) : 1;
}

/// The layouts to which an operation on one part refers.
struct PartLayouts {
  OwnedLayout target;
  OwnedLayout origin;
  OwnedLayout result;
};

/// Sets the origin's buffers of the operation on one part, `part`.
void set_buffers(engine::RmaOp& part, PartRuns& runs, PartLayouts& layouts) {
  std::ptrdiff_t begin = 0;
  if (!runs.origin.is_empty()) {
    layouts.origin = runs.origin.finish(&begin);
    part.origin += begin;
    if (part.operand2 != nullptr) part.operand2 += begin;
    part.origin_layout = layouts.origin.view();
  }
  if (!runs.result.is_empty()) {
    layouts.result = runs.result.finish(&begin);
    part.result += begin;
    part.result_layout = layouts.result.view();
  }
}

/// Executes the operation at a memory server by requests. The operation is complete on return.
int execute_by_request(Window& window, Target& target, engine::RmaOp const& operation, MPI_Request* request) {
  try {
    target.by_request->execute(target.requested_rank, operation);
  } catch (NamError const& error) {
    ReportedTarget const subject = subject_of(window, target, operation);
    return code_with(error.error_class(), "%s failed: %s", describe(subject).c_str(), error.what());
  }
  if (request != nullptr) *request = completed_request();
  return MPI_SUCCESS;
}

/// Executes the operation on one part of a striped region by a request to its server.
engine::Status execute_part_by_request(Target& target, engine::RmaOp const& operation) {
  try {
    target.by_request->execute(target.requested_rank, operation);
    return engine::Status::ok;
  } catch (NamError const& error) {
    if (error.error_class() == MPI_ERR_ACCESS) return engine::Status::access_denied;
    return error.error_class() == MPI_ERR_WIN ? engine::Status::stale_exposure : engine::Status::transport;
  }
}

/// Issues the runs of `operation` that lie in one part of the striped region, which is `target`.
engine::Issued issue_part(Window& window, Target& target, engine::RmaOp const& operation, PartRuns& runs,
                          engine::Completion* completion) {
  engine::RmaOp part = operation;
  PartLayouts layouts;
  std::ptrdiff_t begin = 0;
  layouts.target = runs.target.finish(&begin);
  part.target = target.offset + static_cast<std::uint64_t>(begin);
  part.target_layout = layouts.target.view();
  part.exposed.target = target.exposure;
  part.completion = completion;
  part.flags = without(part.flags, engine::OpFlags::no_lock_wait);  // a single part cannot be queued
  set_buffers(part, runs, layouts);
  if (try_load_store(window, target, part)) return {};
  if (target.by_request != nullptr) return engine::Issued::ended(execute_part_by_request(target, part));
  if (target.memory_owner == nullptr) return engine::Issued::ended(engine::Status::stale_exposure);
  return issue_to_engine(window, target, part);
}

/// Collects the outcomes of the operations on all parts, for the completion of the whole if there is one.
class AggregateOutcome {
 public:
  explicit AggregateOutcome(engine::AggregateCompletion* aggregate) noexcept : aggregate_(aggregate) {}
  ~AggregateOutcome() {
    if (aggregate_ != nullptr) aggregate_->close();
  }
  AggregateOutcome(AggregateOutcome const&) = delete;
  AggregateOutcome& operator=(AggregateOutcome const&) = delete;

  engine::Status status() const noexcept { return first_; }

  /// Calls `issue` with the completion object of the operation on one part.
  template <typename Issue>
  void add(Issue issue) {
    engine::Completion* const completion = aggregate_ != nullptr ? aggregate_->add() : nullptr;
    if (aggregate_ != nullptr && completion == nullptr) return note(engine::Status::out_of_memory);
    engine::Issued issued = engine::Issued::ended(engine::Status::out_of_memory);
    try {
      issued = issue(completion);
    } catch (std::bad_alloc const&) {  // the part has ended, or the whole never would
    }
    note(issued.status);
    if (completion != nullptr && issued.complete) completion->done(*completion, issued.status, 0);
  }

  void note(engine::Status status) noexcept {
    if (aggregate_ != nullptr) aggregate_->record(status);
    if (!engine::failed(first_)) first_ = status;
  }

 private:
  engine::AggregateCompletion* aggregate_;
  engine::Status first_ = engine::Status::ok;
};

/// Issues the operation to all parts of the striped region. Does not throw: the parts that have been issued
/// refer to completion objects of the caller.
void issue_to_parts(Window& window, Target& target, engine::RmaOp const& operation,
                    AggregateOutcome& outcome) noexcept try {
  StripedRegion const& region = *target.striped_region;
  ChunkSplitter splitter(region, operation.target, operation.target_layout, origin_of(operation),
                         result_of(operation));
  while (splitter.next()) {
    for (std::size_t i = 0; i < region.parts.size(); ++i) {
      if (splitter.runs_of(i).target.is_empty()) continue;
      outcome.add([&](engine::Completion* completion) {
        return issue_part(window, *region.parts[i], operation, splitter.runs_of(i), completion);
      });
      // After the part: a thread that sees the position of `target` finds that of the part, too.
      if (region.parts[i]->outstanding.is_set()) target.outstanding.raise(1);
    }
  }
} catch (std::exception const&) {
  outcome.note(engine::Status::out_of_memory);
}

/// Whether the target has a striped region that can execute the operation. Returns an error class.
int check_striped_region(Target const& target, engine::RmaOp const& operation) {
  if (target.striped_region == nullptr) return MPI_ERR_WIN;  // the window has ended at the memory server
  return chunks_hold_whole_elements(*target.striped_region, operation.target, operation.target_layout,
                                    element_of(operation))
             ? MPI_SUCCESS
             : MPI_ERR_DISP;
}

}  // namespace

int issue_without_peer(Window& window, Target& target, engine::RmaOp const& operation, MPI_Request* request) {
  if (target.by_request != nullptr) return execute_by_request(window, target, operation, request);
  if (int const error = check_striped_region(target, operation); error != MPI_SUCCESS) return error;
  engine::AggregateCompletion* aggregate = nullptr;
  if (request != nullptr && (aggregate = open_aggregate_request(window, request)) == nullptr)
    return MPI_ERR_NO_MEM;
  AggregateOutcome outcome(aggregate);
  issue_to_parts(window, target, operation, outcome);
  return request != nullptr ? MPI_SUCCESS : class_of(window, outcome.status());
}

int execute_without_peer(Window& window, Target& target, engine::RmaOp operation) {
  if (target.by_request != nullptr) return execute_by_request(window, target, operation, nullptr);
  if (int const error = check_striped_region(target, operation); error != MPI_SUCCESS) return error;
  operation.flags = operation.flags | engine::OpFlags::remote_completion;
  engine::BlockingCompletion completion;
  engine::AggregateCompletion* const aggregate = engine::AggregateCompletion::open(completion);
  if (aggregate == nullptr) return MPI_ERR_NO_MEM;
  {
    AggregateOutcome outcome(aggregate);
    issue_to_parts(window, target, operation, outcome);
  }
  window.engine.waits.until([&] { return completion.is_done.load(std::memory_order_acquire); });
  return engine::failed(completion.status) ? failure_of(window, target, completion.status, operation)
                                           : MPI_SUCCESS;
}

}  // namespace mpixrma::windows
