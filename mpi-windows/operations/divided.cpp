#include "mpi-windows/operations/divided.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mpi-windows/operations/operation.hpp"

namespace mpixrma::windows {

namespace {

using engine::Layout;
using engine::LayoutCursor;
using engine::LayoutRun;
using engine::OwnedLayout;

/// Number of runs of one side that are cut at a time.
constexpr std::size_t max_runs = 1u << 16;

/// A part of one side of an operation: contiguous runs in the order of the data.
class Runs {
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

/// Both sides of the share of an operation in one process's part of the target's memory.
struct Share {
  Runs target;
  Runs origin;
  Runs result;
};

/// Cuts an operation at the borders of chunks.
class Cutter {
 public:
  /// `origin` and `result` are empty if the operation has none.
  Cutter(DividedMemory const& memory, std::uint64_t begin, Layout const& target, Layout const& origin,
         Layout const& result)
      : memory_(memory),
        begin_(begin),
        target_(target),
        origin_(origin),
        result_(result),
        shares_(memory.parts.size()) {}

  /// Cuts the next runs for all parts. Returns false if nothing was left.
  bool next() {
    if (target_.remaining() == 0) return false;
    for (std::size_t runs = 0; target_.remaining() != 0 && runs < max_runs;) {
      LayoutRun const run = target_.next();
      for (std::size_t done = 0; done < run.length; ++runs)
        done += append_chunk(begin_ + static_cast<std::uint64_t>(run.offset) + done, run.length - done);
    }
    return true;
  }
  Share& share(std::size_t part) noexcept { return shares_[part]; }

 private:
  /// Appends the bytes from `offset` on that are in one chunk, `most` at the most, to the share of the part
  /// that has the chunk. Returns their number.
  std::size_t append_chunk(std::uint64_t offset, std::size_t most) {
    std::uint64_t const chunk = offset / memory_.chunk_bytes;
    std::uint64_t const within = offset % memory_.chunk_bytes;
    auto const bytes = static_cast<std::size_t>(std::min<std::uint64_t>(most, memory_.chunk_bytes - within));
    std::uint64_t const there = chunk / shares_.size() * memory_.chunk_bytes + within;
    Share& share = shares_[chunk % shares_.size()];
    share.target.add({static_cast<std::ptrdiff_t>(there), bytes});
    append_runs(origin_, bytes, share.origin);
    append_runs(result_, bytes, share.result);
    return bytes;
  }
  /// Does nothing for an operation without such a side.
  static void append_runs(LayoutCursor& from, std::size_t bytes, Runs& to) {
    if (from.remaining() == 0) return;
    while (bytes != 0) {
      LayoutRun const run = from.next(bytes);
      to.add(run);
      bytes -= run.length;
    }
  }

  DividedMemory const& memory_;
  std::uint64_t begin_;
  LayoutCursor target_;
  LayoutCursor origin_;
  LayoutCursor result_;
  std::vector<Share> shares_;
};

/// Whether each element lies within one chunk, whose size is a multiple of the elements' size.
bool keeps_elements(DividedMemory const& memory, std::uint64_t begin, Layout const& target,
                    std::size_t element) {
  LayoutCursor cursor(target);
  std::uint64_t chunk = 0;  // of the byte before
  for (std::size_t position = 0; cursor.remaining() != 0;) {
    LayoutRun const run = cursor.next();
    std::uint64_t const first = begin + static_cast<std::uint64_t>(run.offset);
    bool const within = position % element != 0;  // an element with a gap
    if (within && first / memory.chunk_bytes != chunk) return false;
    std::uint64_t const left = memory.chunk_bytes - first % memory.chunk_bytes;
    if (left < run.length && (position + left) % element != 0) return false;
    chunk = (first + run.length - 1) / memory.chunk_bytes;
    position += run.length;
  }
  return true;
}

/// The side that moves with the target's data, empty where the operation has none.
Layout origin_of(engine::RmaOp const& operation) {
  return operation.operands() != 0 || operation.is_get() ? operation.origin_layout : Layout{};
}
Layout result_of(engine::RmaOp const& operation) {
  return operation.result != nullptr ? operation.result_layout : Layout{};
}

/// Returns the unit in bytes that the border of a chunk must not cut.
std::size_t element_of(engine::RmaOp const& operation) {
  return operation.is_update() ? std::max<std::size_t>(engine::element_size(operation.type), 1) : 1;
}

/// The layouts to which an operation on one part refers.
struct Sides {
  OwnedLayout target;
  OwnedLayout origin;
  OwnedLayout result;
};

/// Lets the operation on one part refer to the origin and result of the share.
void set_buffers(engine::RmaOp& part, Share& share, Sides& sides) {
  std::ptrdiff_t begin = 0;
  if (!share.origin.is_empty()) {
    sides.origin = share.origin.finish(&begin);
    part.origin += begin;
    if (part.operand2 != nullptr) part.operand2 += begin;
    part.origin_layout = sides.origin.view();
  }
  if (!share.result.is_empty()) {
    sides.result = share.result.finish(&begin);
    part.result += begin;
    part.result_layout = sides.result.view();
  }
}

/// Executes the operation at a memory server by requests: complete when it returns.
int execute_by_request(Window& window, Target& target, engine::RmaOp const& operation, MPI_Request* request) {
  try {
    target.by_request->execute(target.requested_rank, operation);
  } catch (NamError const& error) {
    Subject const subject = subject_of(window, target, operation);
    return code_with(error.error_class(), "%s failed: %s", describe(subject).c_str(), error.what());
  }
  if (request != nullptr) *request = completed_request();
  return MPI_SUCCESS;
}

/// Executes the part of an operation that goes to one of several servers.
engine::Status execute_by_request(Target& target, engine::RmaOp const& operation) {
  try {
    target.by_request->execute(target.requested_rank, operation);
    return engine::Status::ok;
  } catch (NamError const& error) {
    if (error.error_class() == MPI_ERR_ACCESS) return engine::Status::access_denied;
    return error.error_class() == MPI_ERR_WIN ? engine::Status::stale_exposure : engine::Status::transport;
  }
}

/// Issues `share` of `operation` to the part of the target's memory that is `target`.
engine::Issued issue_share(Window& window, Target& target, engine::RmaOp const& operation, Share& share,
                           engine::Completion* completion) {
  engine::RmaOp part = operation;
  Sides sides;
  std::ptrdiff_t begin = 0;
  sides.target = share.target.finish(&begin);
  part.target = target.offset + static_cast<std::uint64_t>(begin);
  part.target_layout = sides.target.view();
  part.exposed.target = target.exposure;
  part.completion = completion;
  part.guarantees = without(part.guarantees, engine::Guarantee::no_lock_wait);  // one call for all parts
  set_buffers(part, share, sides);
  if (try_direct(window, target, part)) return {};
  if (target.by_request != nullptr) return engine::Issued::ended(execute_by_request(target, part));
  if (target.memory == nullptr) return engine::Issued::ended(engine::Status::stale_exposure);
  return start(window, target, part);
}

/// Collects the outcomes of the shares of an operation, for its request if it has one.
class Outcome {
 public:
  Outcome(Window& window, MPI_Request* request)
      : joint_(request != nullptr
                   ? open_joint_request(window.handle, window.context, window.joint_requests, request)
                   : nullptr) {}
  ~Outcome() {
    if (joint_ != nullptr) joint_->close();
  }
  Outcome(Outcome const&) = delete;
  Outcome& operator=(Outcome const&) = delete;

  bool has_request() const noexcept { return joint_ != nullptr; }
  engine::Status status() const noexcept { return first_; }

  /// Calls `issue` with the completion object of a share.
  template <typename Issue>
  void add(Issue issue) {
    engine::Completion* const completion = joint_ != nullptr ? joint_->add() : nullptr;
    if (joint_ != nullptr && completion == nullptr) return note(engine::Status::out_of_memory);
    engine::Issued const issued = issue(completion);
    note(issued.status);
    if (completion != nullptr && issued.complete) completion->done(*completion, issued.status, 0);
  }

 private:
  void note(engine::Status status) noexcept {
    if (joint_ != nullptr) joint_->note(status);
    if (!engine::failed(first_)) first_ = status;
  }

  engine::JointCompletion* joint_;
  engine::Status first_ = engine::Status::ok;
};

}  // namespace

int issue_divided(Window& window, Target& target, engine::RmaOp const& operation, MPI_Request* request) {
  if (target.by_request != nullptr) return execute_by_request(window, target, operation, request);
  if (target.divided == nullptr) return MPI_ERR_WIN;  // the window has ended at the memory server
  DividedMemory const& memory = *target.divided;
  if (!keeps_elements(memory, operation.target, operation.target_layout, element_of(operation)))
    return MPI_ERR_DISP;
  Cutter cutter(memory, operation.target, operation.target_layout, origin_of(operation),
                result_of(operation));
  Outcome outcome(window, request);
  if (request != nullptr && !outcome.has_request()) return MPI_ERR_NO_MEM;
  while (cutter.next()) {
    for (std::size_t i = 0; i < memory.parts.size(); ++i) {
      if (cutter.share(i).target.is_empty()) continue;
      outcome.add([&](engine::Completion* completion) {
        return issue_share(window, *memory.parts[i], operation, cutter.share(i), completion);
      });
      // Marked after the part: a thread that sees the mark of `target` finds that of the part, too.
      if (memory.parts[i]->outstanding.is_set()) target.outstanding.raise(1);
    }
  }
  return request != nullptr ? MPI_SUCCESS : class_of(window, outcome.status());
}

}  // namespace mpixrma::windows
