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

using engine::Segment;
using nam::OperationRequest;

GrantRegistry<GuestSession>& guest_registry() {
  static GrantRegistry<GuestSession> sessions;
  return sessions;
}

/// Delay between two attempts if other operations have locked the memory.
constexpr std::chrono::microseconds between_requests{50};

/// The part of an operation's data that fits into one request.
struct Share {
  std::vector<Segment> runs;
  std::size_t position = 0;
  std::size_t bytes = 0;
};

/// Calls `send` with consecutive shares of the operation. Shares end between elements.
template <typename Send>
void for_each_share(engine::Layout const& target, std::uint64_t begin, std::size_t element, Send send) {
  // An element may consist of two runs.
  constexpr std::size_t most_runs = nam::most_operation_runs - 2;
  std::size_t const most_bytes = nam::most_operation_bytes - nam::most_operation_bytes % element;
  engine::LayoutCursor cursor(target);
  Share share;
  while (cursor.remaining() != 0) {
    share.position += std::exchange(share.bytes, 0);
    share.runs.clear();
    while (cursor.remaining() != 0 && share.bytes != most_bytes &&
           (share.runs.size() < most_runs || share.bytes % element != 0)) {
      Segment run = cursor.next(most_bytes - share.bytes);
      run.offset += static_cast<std::ptrdiff_t>(begin);
      share.bytes += run.length;
      Segment* const last = share.runs.empty() ? nullptr : &share.runs.back();
      if (last != nullptr && last->offset + static_cast<std::ptrdiff_t>(last->length) == run.offset) {
        last->length += run.length;
      } else {
        share.runs.push_back(run);
      }
    }
    send(share);
  }
}

class GuestNamWindow final : public SessionNamWindow {
 public:
  GuestNamWindow(std::shared_ptr<GuestSession> session, nam::WindowInfo info)
      : SessionNamWindow(std::move(session), std::move(info)) {}

  void release() override {
    at_server([this] { evict(session().locator()); });
  }
  void keep() override { throw NamError(MPI_ERR_ACCESS, "only the owner of a grant allocates in it"); }

  bool is_by_request() const noexcept override { return true; }
  void execute(int rank, engine::Transfer const& transfer) const override;
  void execute(int rank, engine::Update const& update) const override;

 private:
  void send(int rank, OperationRequest const& request, std::span<std::byte> fetched) const;
};

/// The server rejects requests that would wait for others, so that it can serve the others.
void GuestNamWindow::send(int rank, OperationRequest const& request, std::span<std::byte> fetched) const try {
  auto const place = static_cast<std::uint64_t>(rank);
  while (
      !session().ask([&](nam::Session& session) { return session.operate(info_, place, request, fetched); }))
    std::this_thread::sleep_for(between_requests);
} catch (nam::Error const& error) {
  bool const has_ended =
      error.code() == nam::ErrorCode::not_found || error.code() == nam::ErrorCode::unavailable;
  throw NamError(has_ended ? MPI_ERR_WIN : class_of(error.code()), error.what());
}

void GuestNamWindow::execute(int rank, engine::Transfer const& transfer) const {
  bool const puts = transfer.direction == engine::Direction::put;
  for_each_share(transfer.target_layout, transfer.target, 1, [&](Share const& share) {
    std::vector<std::byte> data(share.bytes);
    OperationRequest request;
    request.kind = puts ? OperationRequest::Kind::put : OperationRequest::Kind::get;
    request.runs = share.runs;
    if (puts) {
      engine::pack(data.data(), transfer.origin, transfer.origin_layout, share.position, share.bytes);
      request.operand = data;
      return send(rank, request, {});
    }
    send(rank, request, data);
    engine::unpack(transfer.origin, transfer.origin_layout, share.position, data.data(), share.bytes);
  });
}

void GuestNamWindow::execute(int rank, engine::Update const& update) const {
  std::size_t const element = std::max<std::size_t>(engine::element_size(update.type), 1);
  unsigned const operands = engine::operand_count(update.operation);
  for_each_share(update.target_layout, update.target, element, [&](Share const& share) {
    auto const packed = [&](std::byte const* from) {
      std::vector<std::byte> data(share.bytes);
      engine::pack(data.data(), from, update.origin_layout, share.position, share.bytes);
      return data;
    };
    std::vector<std::byte> const operand = operands > 0 ? packed(update.origin) : std::vector<std::byte>();
    std::vector<std::byte> const operand2 = operands > 1 ? packed(update.operand2) : std::vector<std::byte>();
    std::vector<std::byte> before(update.result != nullptr ? share.bytes : 0);
    OperationRequest request;
    request.kind = OperationRequest::Kind::update;
    request.operation = update.operation;
    request.type = update.type;
    request.fetches_before = update.result != nullptr;
    request.runs = share.runs;
    request.operand = operand;
    request.operand2 = operand2;
    send(rank, request, before);
    if (update.result != nullptr)
      engine::unpack(update.result, update.result_layout, share.position, before.data(), share.bytes);
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
