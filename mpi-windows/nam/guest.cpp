#include "mpi-windows/nam/guest.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>
#include <utility>
#include <vector>

#include "engine/op/kernel/kernels.hpp"
#include "mpi-windows/nam/error.hpp"
#include "mpi-windows/nam/registry.hpp"
#include "nam/protocol/operation_request.hpp"

namespace mpixrma::windows {

namespace {

using engine::LayoutRun;
using nam::OperationRequest;

GrantRegistry<GuestSession>& guest_registry() {
  static GrantRegistry<GuestSession> sessions;
  return sessions;
}

/// Delay between two attempts if other operations have locked the memory.
constexpr std::chrono::microseconds between_requests{50};

/// The part of an operation's data that fits into one request.
struct RequestFragment {
  std::vector<LayoutRun> runs;
  std::size_t position = 0;
  std::size_t bytes = 0;
};

/// Calls `send` with consecutive fragments of the operation. Fragments end between elements.
template <typename Send>
void for_each_fragment(engine::Layout const& target, std::uint64_t begin, std::size_t element, Send send) {
  // An element may consist of two runs.
  constexpr std::size_t max_runs = nam::max_operation_runs - 2;
  std::size_t const max_bytes = nam::max_operation_bytes - nam::max_operation_bytes % element;
  engine::LayoutCursor cursor(target);
  RequestFragment fragment;
  while (cursor.remaining() != 0) {
    fragment.position += std::exchange(fragment.bytes, 0);
    fragment.runs.clear();
    while (cursor.remaining() != 0 && fragment.bytes != max_bytes &&
           (fragment.runs.size() < max_runs || fragment.bytes % element != 0)) {
      LayoutRun run = cursor.next(max_bytes - fragment.bytes);
      run.offset += static_cast<std::ptrdiff_t>(begin);
      fragment.bytes += run.length;
      LayoutRun* const last = fragment.runs.empty() ? nullptr : &fragment.runs.back();
      if (last != nullptr && last->offset + static_cast<std::ptrdiff_t>(last->length) == run.offset) {
        last->length += run.length;
      } else {
        fragment.runs.push_back(run);
      }
    }
    send(fragment);
  }
}

class GuestNamWindow final : public SessionNamWindow {
 public:
  GuestNamWindow(std::shared_ptr<GuestSession> session, nam::WindowInfo info)
      : SessionNamWindow(std::move(session), std::move(info)) {}

  void release() override {
    convert_server_errors([this] { evict(session().locator()); });
  }
  void make_persistent() override {
    throw NamError(MPI_ERR_ACCESS, "only the owner of a grant allocates in it");
  }

  bool is_by_request() const noexcept override { return true; }
  void execute(int rank, engine::RmaOp const& operation) const override;

 private:
  void send(int rank, OperationRequest const& request, std::span<std::byte> fetched) const;
};

/// Repeats the request while the server rejects it. The server rejects a request that would have to wait for
/// other operations, so that the server can execute those operations.
void GuestNamWindow::send(int rank, OperationRequest const& request, std::span<std::byte> fetched) const try {
  auto const place = static_cast<std::uint64_t>(rank);
  while (!session().with_session(
      [&](nam::Session& session) { return session.operate(info_, place, request, fetched); }))
    std::this_thread::sleep_for(between_requests);
} catch (nam::Error const& error) {
  bool const has_ended =
      error.code() == nam::ErrorCode::not_found || error.code() == nam::ErrorCode::unavailable;
  throw NamError(has_ended ? MPI_ERR_WIN : class_of(error.code()), error.what());
}

/// Returns the fragment's bytes from the origin's buffer `operand`; empty if the operation has no such
/// buffer.
std::vector<std::byte> packed(engine::RmaOp const& operation, unsigned operand,
                              RequestFragment const& fragment) {
  if (operation.operands() <= operand) return {};
  std::vector<std::byte> data(fragment.bytes);
  std::byte const* const from = operand == 0 ? operation.origin : operation.operand2;
  engine::pack(data.data(), from, operation.origin_layout, fragment.position, fragment.bytes);
  return data;
}

OperationRequest request_for(engine::RmaOp const& operation, RequestFragment const& fragment) {
  OperationRequest request;
  request.runs = fragment.runs;
  switch (operation.kind) {
    case engine::OpKind::put: request.kind = OperationRequest::Kind::put; break;
    case engine::OpKind::get: request.kind = OperationRequest::Kind::get; break;
    case engine::OpKind::update:
      request.kind = OperationRequest::Kind::update;
      request.operation = operation.reduce_op;
      request.type = operation.type;
      request.fetches_previous = operation.fetches();
      break;
  }
  return request;
}

void GuestNamWindow::execute(int rank, engine::RmaOp const& operation) const {
  std::size_t const element =
      operation.is_update() ? std::max<std::size_t>(engine::element_size(operation.type), 1) : 1;
  for_each_fragment(operation.target_layout, operation.target, element, [&](RequestFragment const& fragment) {
    std::vector<std::byte> const operand = packed(operation, 0, fragment);
    std::vector<std::byte> const operand2 = packed(operation, 1, fragment);
    std::vector<std::byte> fetched(operation.fetches() ? fragment.bytes : 0);
    OperationRequest request = request_for(operation, fragment);
    request.operand = operand;
    request.operand2 = operand2;
    send(rank, request, fetched);
    if (operation.fetches())
      engine::unpack(operation.sink(), operation.sink_layout(), fragment.position, fetched.data(),
                     fragment.bytes);
  });
}

}  // namespace

GuestSession::GuestSession(nam::Locator const& window)
    : NamSession(window, [&] {
        nam::WindowInfo ignored;
        return nam::Session::connect(nam::format(window), window.address, &ignored);
      }()) {}

std::shared_ptr<GuestSession> GuestSession::of(nam::Locator const& window) {
  return guest_registry().find_or_open(window);
}

std::shared_ptr<GuestSession> GuestSession::of(nam::Locator const& window, nam::Session found) {
  auto const fits = [](GuestSession const&) { return true; };
  return guest_registry().find_or_open(
      window, fits, [&] { return std::make_shared<GuestSession>(window, std::move(found)); });
}

std::unique_ptr<ServedWindow> make_guest(std::shared_ptr<GuestSession> session, nam::WindowInfo window) {
  return std::make_unique<GuestNamWindow>(std::move(session), std::move(window));
}

}  // namespace mpixrma::windows
