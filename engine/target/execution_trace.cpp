#include "engine/target/execution_trace.hpp"

namespace mpixrma::engine {

namespace {

TracedOp traced(wire::RequestHeader const& header) noexcept {
  switch (header.kind) {
    case wire::RequestKind::put: return TracedOp::put;
    case wire::RequestKind::get: return TracedOp::get;
    case wire::RequestKind::update:
      return traced_update(static_cast<ReduceOp>(header.operation), Fetch{wire::is_fetching(header)});
    default: return TracedOp::other;
  }
}

}  // namespace

void ExecutionTrace::record(std::uint64_t begin, wire::RequestHeader const& header,
                            Requests const& executed) const noexcept {
  recorder_->add_execution(begin, {.peer = executed.origin,
                                   .protocol = executed.protocol,
                                   .op = traced(header),
                                   .requests = executed.count,
                                   .bytes = executed.bytes});
}

}  // namespace mpixrma::engine
