/// DataProcess: operations that arrive as requests. They are executed in the order of their session. Each
/// element of an update is updated atomically with respect to processes that map the memory and to peers of
/// the engine; puts and gets are plain copies.
#include <vector>

#include "engine/base/backoff.hpp"
#include "engine/proto/direct.hpp"
#include "nam/data/data_process.hpp"

namespace mpixrma::nam {

namespace {

/// Gives up soon: the holder of the stripes may be stopped, and this process has other sessions to serve.
bool try_acquire_spin(engine::UniqueStripeLock& lock) noexcept {
  constexpr int max_attempts = 64;
  for (int attempt = 0; attempt < max_attempts; ++attempt) {
    if (lock.acquire()) return true;
    engine::cpu_relax();
  }
  return false;
}

engine::RmaOp copy_of(OperationRequest const& request, std::span<std::byte> fetched) noexcept {
  engine::RmaOp copy;
  bool const puts = request.kind == OperationRequest::Kind::put;
  copy.kind = puts ? engine::OpKind::put : engine::OpKind::get;
  copy.origin = puts ? engine::read_only(request.operand.data()) : fetched.data();
  return copy;
}

engine::RmaOp update_of(OperationRequest const& request, std::span<std::byte> fetched) noexcept {
  engine::RmaOp update = engine::update_with(request.operation, request.type);
  update.flags = engine::OpFlags::element_atomic;
  update.origin = engine::read_only(request.operand.data());
  update.operand2 = request.operand2.data();
  if (!fetched.empty()) update.result = fetched.data();
  update.result_layout = engine::Layout::contiguous(fetched.size());
  return update;
}

engine::RmaOp operation_of(OperationRequest const& request, std::span<std::byte> fetched) noexcept {
  return request.kind == OperationRequest::Kind::update ? update_of(request, fetched)
                                                        : copy_of(request, fetched);
}

}  // namespace

void DataProcess::operate(SessionId id, Message const& message) {
  Json const& head = message.head;
  Window const& window = window_for(id, head, WindowRights::none).window;
  auto const rank = field<std::uint64_t>(head, "rank");
  if (rank >= window.regions.size()) throw Error(ErrorCode::bad_request, "the window has no such rank");
  Region const& region = window.regions[rank];
  OperationRequest const request = unpack_operation(head, message.data, region.bytes);
  if (request.reads() || !request.writes()) (void)window_for(id, head, WindowRights::read);
  if (request.writes()) (void)window_for(id, head, WindowRights::write);
  std::vector<std::byte> fetched(request.reads() ? request.bytes() : 0);
  bool const executed = execute(request, region, fetched);
  if (!executed) fetched.clear();
  sessions_.at(id).connection->post({{"executed", executed}}, std::move(fetched));
}

/// Returns false if the stripes of the operation are taken. Stripes and modes depend on offsets in the grant,
/// as in processes that map it.
bool DataProcess::execute(OperationRequest const& request, Region const& region,
                          std::span<std::byte> fetched) {
  std::vector<engine::LayoutRun> runs(request.runs.begin(), request.runs.end());
  std::ptrdiff_t const first = runs.front().offset;
  for (engine::LayoutRun& run : runs) run.offset -= first;
  engine::OwnedLayout const owned(engine::Layout{request.bytes(), {}, runs});
  engine::Layout const layout = owned.view();
  std::uint64_t const target = region.offset + static_cast<std::uint64_t>(first);
  engine::StripeTable& stripes = memory_.shared->stripes();
  engine::RmaOp operation = operation_of(request, fetched);
  operation.target = target;
  operation.target_layout = layout;
  if (operation.origin != nullptr) operation.origin_layout = engine::Layout::contiguous(layout.size());
  engine::UniqueStripeLock lock(stripes, engine::footprint_of(operation, stripes.modes).target);
  if (!try_acquire_spin(lock)) return false;
  engine::Extent const extent = layout.extent();
  memory_.storage->access(
      target + static_cast<std::uint64_t>(extent.begin),
      static_cast<std::uint64_t>(extent.end - extent.begin),
      [&] { engine::execute_directly(operation, memory_.storage->base() + target, stripes.modes); });
  return true;
}

}  // namespace mpixrma::nam
