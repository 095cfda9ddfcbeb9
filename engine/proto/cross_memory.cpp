#include "engine/proto/cross_memory.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

#include "engine/memory/probe.hpp"
#include "engine/op/kernel/kernels.hpp"
#include "engine/op/kernel/whole_elements.hpp"
#include "engine/proto/packed_update.hpp"

namespace mpixrma::engine {

namespace {

// Pieces per system call. The kernel's limit is 1024; the arrays are on the stack.
constexpr std::size_t batch_pieces = 256;
// Maximum size of the buffer for updates.
constexpr std::size_t chunk_bytes = 64 * 1024;

/// Returns the status for the side that is inaccessible, after a call that stopped with EFAULT.
Status status_of_fault(pid_t pid, Access access, iovec const& local, iovec const& remote) noexcept {
  constexpr std::size_t page = 4096;  // no more, because a probe allocates the pages
  if (!accessible(local.iov_base, std::min(local.iov_len, page),
                  access == Access::write ? Access::read : Access::write))
    return Status::bad_origin;
  std::byte byte{};
  iovec const here{&byte, 1};
  iovec const there{remote.iov_base, 1};
  bool const readable = access == Access::write && ::process_vm_readv(pid, &here, 1, &there, 1, 0) == 1;
  return readable ? Status::not_writable : Status::bad_address;
}

/// The process and direction of a transfer.
struct TransferMode {
  pid_t pid;
  Access access;
  std::size_t bytes_per_call;
};

/// Returns the reason why the call stopped at the first remaining byte, which is untouched on both sides.
Status status_of_errno(pid_t pid, Access access, iovec const& local, iovec const& remote) noexcept {
  switch (errno) {
    case EFAULT: return status_of_fault(pid, access, local, remote);
    case EPERM:
    case ENOSYS: return Status::unsupported;
    case ESRCH: return Status::unreachable;
    case ENOMEM: return Status::out_of_memory;
    default: return Status::transport;
  }
}

/// Removes the first `bytes` bytes; returns the number of pieces that are consumed completely.
std::size_t skip(iovec* pieces, std::size_t bytes) noexcept {
  std::size_t done = 0;
  for (; bytes != 0 && bytes >= pieces[done].iov_len; ++done) bytes -= pieces[done].iov_len;
  if (bytes != 0) {
    pieces[done].iov_base = static_cast<std::byte*>(pieces[done].iov_base) + bytes;
    pieces[done].iov_len -= bytes;
  }
  return done;
}

/// Transfers nonempty pieces whose lengths are the same on both sides. Adds the number of transferred bytes
/// to `*moved`, also if the rest fails.
Status move_pieces(TransferMode const& mode, iovec* local, iovec* remote, std::size_t pieces,
                   std::size_t* moved) noexcept {
  auto const call = mode.access == Access::write ? &::process_vm_writev : &::process_vm_readv;
  // The kernel stops at the first inaccessible page, and may stop earlier: the next call returns the reason.
  while (pieces != 0) {
    ssize_t const step = call(mode.pid, local, pieces, remote, pieces, 0);
    if (step < 0) return status_of_errno(mode.pid, mode.access, *local, *remote);
    if (step == 0) return Status::bad_address;
    *moved += static_cast<std::size_t>(step);
    std::size_t const done = skip(local, static_cast<std::size_t>(step));
    (void)skip(remote, static_cast<std::size_t>(step));
    local += done;
    remote += done;
    pieces -= done;
  }
  return Status::ok;
}

/// Pairs of pieces with equal lengths, transferred by one system call.
class Batch {
 public:
  explicit Batch(TransferMode const& mode) noexcept : mode_(mode) {}

  /// Number of bytes that still fit.
  std::size_t room() const noexcept { return used_ == batch_pieces ? 0 : mode_.bytes_per_call - bytes_; }

  void add(std::byte* local, RemoteAddress remote, std::size_t bytes) noexcept {
    local_[used_] = {local, bytes};
    remote_[used_] = {reinterpret_cast<void*>(remote), bytes};
    ++used_;
    bytes_ += bytes;
  }

  /// Adds the number of transferred bytes to `*moved`.
  Status move(std::size_t* moved) noexcept {
    bytes_ = 0;
    return move_pieces(mode_, local_.data(), remote_.data(), std::exchange(used_, 0), moved);
  }

 private:
  TransferMode mode_;
  std::size_t used_ = 0;
  std::size_t bytes_ = 0;
  std::array<iovec, batch_pieces> local_;
  std::array<iovec, batch_pieces> remote_;
};

Status move_contiguous(TransferMode const& mode, std::byte* local, RemoteAddress remote, std::size_t bytes,
                       std::size_t* moved) noexcept {
  while (bytes != 0) {
    std::size_t const step = std::min(bytes, mode.bytes_per_call);
    iovec here{local, step};
    iovec there{reinterpret_cast<void*>(remote), step};
    if (Status const status = move_pieces(mode, &here, &there, 1, moved); failed(status)) return status;
    local += step;
    remote += step;
    bytes -= step;
  }
  return Status::ok;
}

/// A side of a transfer: the data of the layout at `base`, from `position` on.
template <typename Base>
struct Side {
  Base base;
  Layout const& layout;
  std::size_t position;
};
using LocalSide = Side<std::byte*>;
using RemoteSide = Side<RemoteAddress>;

/// Transfers `bytes` bytes of the two sides' data. Adds the number of transferred bytes to `*moved`, even if
/// the rest fails.
Status move(TransferMode const& mode, LocalSide const& local, RemoteSide const& remote, std::size_t bytes,
            std::size_t* moved) noexcept {
  if (local.layout.is_contiguous() && remote.layout.is_contiguous())
    return move_contiguous(mode, local.base + local.position, remote.base + remote.position, bytes, moved);
  Batch batch(mode);
  LayoutCursor here(local.layout);
  LayoutCursor there(remote.layout);
  here.seek(local.position);
  there.seek(remote.position);
  LayoutRun a{0, 0};
  LayoutRun b{0, 0};
  while (bytes != 0) {
    if (a.length == 0) a = here.next(bytes);
    if (b.length == 0) b = there.next(bytes);
    std::size_t const step = std::min({a.length, b.length, batch.room()});
    batch.add(local.base + a.offset, remote.base + static_cast<std::uint64_t>(b.offset), step);
    bytes -= step;
    for (LayoutRun* const run : {&a, &b}) {
      run->offset += static_cast<std::ptrdiff_t>(step);
      run->length -= step;
    }
    if (batch.room() == 0) {
      if (Status const status = batch.move(moved); failed(status)) return status;
    }
  }
  return batch.move(moved);
}

}  // namespace

bool cross_memory_permitted(pid_t pid) noexcept {
  // No process has memory at address 0, but the kernel checks the permission first: EFAULT means permitted.
  std::byte byte{};
  iovec const local{&byte, 1};
  iovec const remote{nullptr, 1};
  return ::process_vm_readv(pid, &local, 1, &remote, 1, 0) == 1 || errno == EFAULT;
}

bool is_scattered(Layout const& layout) noexcept {
  constexpr std::size_t many_pieces = 64;
  constexpr std::size_t small_piece = 512;  // in bytes
  std::size_t pieces = std::max<std::size_t>(layout.runs.size(), 1);
  for (Dimension const& dimension : layout.dims) pieces *= dimension.count;
  return pieces >= many_pieces && layout.size() / pieces <= small_piece;
}

namespace {

Status copy_across(RmaOp const& operation, pid_t pid, std::size_t bytes_per_call, std::size_t* done) {
  TransferMode const mode{pid, operation.is_put() ? Access::write : Access::read, bytes_per_call};
  std::size_t moved = 0;
  Status const status =
      move(mode, {operation.origin, operation.origin_layout, 0},
           {operation.target, operation.target_layout, 0}, operation.target_layout.size(), &moved);
  if (done != nullptr) *done = moved;
  return status;
}

/// Chunk by chunk, reads the target's data, updates the copy, and writes it back.
Status update_across(RmaOp const& update, pid_t pid, std::size_t bytes_per_call, std::size_t* done) {
  std::size_t const total = update.target_layout.size();
  std::size_t const chunk = std::min(whole_elements(update.type, chunk_bytes), total);
  auto const target = std::make_unique_for_overwrite<std::byte[]>(chunk);
  PackedUpdate packed(update, chunk);
  Reduction const reduction{update.type, update.reduce_op, false, update.scale};
  for (std::size_t position = 0; position < total; position += chunk) {
    std::size_t const bytes = std::min(chunk, total - position);
    Layout const layout = Layout::contiguous(bytes);
    std::size_t moved = 0;
    auto const move_chunk = [&](Access access) {
      moved = 0;
      return move({pid, access, bytes_per_call}, {target.get(), layout, 0},
                  {update.target, update.target_layout, position}, bytes, &moved);
    };
    if (Status const status = move_chunk(Access::read); failed(status)) return status;
    packed.take(position, bytes);
    update_part(reduction, target.get(), layout, 0, packed.sides());
    packed.give_result();
    Status const status = update.writes_target() ? move_chunk(Access::write) : Status::ok;
    if (done != nullptr) *done = position + moved;
    if (status == Status::unsupported && whole_elements(update.type, moved) != moved)
      return Status::transport;  // an element is half written, and no message can write its other half
    if (failed(status)) return status;
  }
  return Status::ok;
}

}  // namespace

Status execute_across(RmaOp const& operation, pid_t pid, std::size_t bytes_per_call, std::size_t* done) {
  return operation.is_update() ? update_across(operation, pid, bytes_per_call, done)
                               : copy_across(operation, pid, bytes_per_call, done);
}

}  // namespace mpixrma::engine
