#include "engine/path/cross_memory.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>

#include "engine/kernel/kernels.hpp"

namespace mpix::engine {

namespace {

// Pieces per system call. The kernel's limit is 1024; the arrays stand on the stack.
constexpr std::size_t batch_pieces = 256;
// Accumulates go through a buffer of this size; a multiple of every element size.
constexpr std::size_t chunk_bytes = 64 * 1024;

Status status_of_errno() noexcept {
  switch (errno) {
    case EFAULT: return Status::bad_address;
    case EPERM:
    case ENOSYS: return Status::unsupported;
    case ESRCH: return Status::unreachable;
    case ENOMEM: return Status::out_of_memory;
    default: return Status::transport;
  }
}

/// One system call over equally many bytes on both sides.
Status move_pieces(pid_t pid, bool write, iovec const* local, iovec const* remote, std::size_t pieces,
                   std::size_t bytes) noexcept {
  auto const call = write ? &::process_vm_writev : &::process_vm_readv;
  ssize_t const moved = call(pid, local, pieces, remote, pieces, 0);
  if (moved < 0) return status_of_errno();
  // The kernel stops at the first page that it cannot touch.
  return static_cast<std::size_t>(moved) == bytes ? Status::ok : Status::bad_address;
}

/// Pairs of pieces with equal lengths, moved by one system call.
class Batch {
 public:
  Batch(pid_t pid, bool write) noexcept : pid_(pid), write_(write) {}

  bool full() const noexcept { return used_ == batch_pieces; }

  void add(std::byte* local, RemoteAddress remote, std::size_t bytes) noexcept {
    local_[used_] = {local, bytes};
    remote_[used_] = {reinterpret_cast<void*>(remote), bytes};
    ++used_;
    bytes_ += bytes;
  }

  Status move() noexcept {
    if (used_ == 0) return Status::ok;
    std::size_t const pieces = used_;
    std::size_t const bytes = bytes_;
    used_ = 0;
    bytes_ = 0;
    return move_pieces(pid_, write_, local_.data(), remote_.data(), pieces, bytes);
  }

 private:
  pid_t pid_;
  bool write_;
  std::size_t used_ = 0;
  std::size_t bytes_ = 0;
  std::array<iovec, batch_pieces> local_;
  std::array<iovec, batch_pieces> remote_;
};

/// Moves bytes [position, position + bytes) of the two layouts' data.
Status move(pid_t pid, bool write, std::byte* local, Layout const& local_layout, std::size_t local_position,
            RemoteAddress remote, Layout const& remote_layout, std::size_t remote_position,
            std::size_t bytes) noexcept {
  if (local_layout.is_contiguous() && remote_layout.is_contiguous()) {
    iovec const here{local + local_position, bytes};
    iovec const there{reinterpret_cast<void*>(remote + remote_position), bytes};
    return move_pieces(pid, write, &here, &there, 1, bytes);
  }
  Batch batch(pid, write);
  LayoutCursor here(local_layout);
  LayoutCursor there(remote_layout);
  here.seek(local_position);
  there.seek(remote_position);
  Segment a{0, 0};
  Segment b{0, 0};
  while (bytes != 0) {
    if (a.length == 0) a = here.next(bytes);
    if (b.length == 0) b = there.next(bytes);
    std::size_t const step = std::min(a.length, b.length);
    batch.add(local + a.offset, remote + static_cast<std::uint64_t>(b.offset), step);
    bytes -= step;
    for (Segment* const run : {&a, &b}) {
      run->offset += static_cast<std::ptrdiff_t>(step);
      run->length -= step;
    }
    if (batch.full()) {
      if (Status const status = batch.move(); failed(status)) return status;
    }
  }
  return batch.move();
}

/// Reads a chunk of the target, combines, writes it back.
Status accumulate_across(Transfer const& transfer, pid_t pid) {
  std::size_t const total = transfer.target_layout.size();
  std::size_t const chunk = std::min(chunk_bytes, total);
  auto const target = std::make_unique_for_overwrite<std::byte[]>(2 * chunk);
  std::byte* const origin = target.get() + chunk;
  Reduction const reduction = transfer.reduction;
  for (std::size_t position = 0; position < total; position += chunk) {
    std::size_t const bytes = std::min(chunk, total - position);
    Layout const packed = Layout::contiguous(bytes);
    auto const move_chunk = [&](bool write) {
      return move(pid, write, target.get(), packed, 0, transfer.target, transfer.target_layout, position,
                  bytes);
    };
    if (Status const status = move_chunk(false); failed(status)) return status;
    pack(origin, transfer.origin, transfer.origin_layout, position, bytes);
    accumulate(reduction, target.get(), packed, origin, packed);
    if (Status const status = move_chunk(true); failed(status)) return status;
  }
  return Status::ok;
}

}  // namespace

bool cross_memory_permitted(pid_t pid) noexcept {
  // Nothing stands at this address in any process: permission is denied before that is found out.
  std::byte byte{};
  iovec const local{&byte, 1};
  iovec const remote{nullptr, 1};
  return ::process_vm_readv(pid, &local, 1, &remote, 1, 0) == 1 || errno == EFAULT;
}

Status cross_memory_transfer(Transfer const& transfer, pid_t pid) {
  if (transfer.direction == Direction::accumulate) return accumulate_across(transfer, pid);
  return move(pid, transfer.direction == Direction::put, transfer.origin, transfer.origin_layout, 0,
              transfer.target, transfer.target_layout, 0, transfer.target_layout.size());
}

}  // namespace mpix::engine
