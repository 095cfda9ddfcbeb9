/// The layer between the interfaces (MPIX_RMA, ARMCI) and the engine: transfers to a Target, with the direct
/// path inline.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/op/kernel/kernels.hpp"
#include "engine/proto/direct.hpp"
#include "engine/runtime/engine.hpp"
#include "engine/sync/footprint.hpp"
#include "mpix/comm/communicator.hpp"
#include "mpix/error/error.hpp"

namespace mpixrma {

using engine::Layout;
using engine::Lookup;
using engine::OpFlags;
using engine::OpKind;
using engine::RemoteAddress;
using engine::RmaOp;

template <Lookup lookup>
inline std::byte* find_mapped(engine::Peer const& peer, RemoteAddress address, std::size_t bytes) noexcept {
  return lookup == Lookup::traced ? peer.translate_traced(address, bytes) : peer.translate(address, bytes);
}

/// Copies between memory of this process and memory that is mapped here. Returns true.
template <OpKind direction>
inline bool move_bytes(void* origin, std::byte* remote, std::size_t bytes) noexcept {
  if constexpr (direction == OpKind::put) {
    engine::copy_bytes(remote, static_cast<std::byte const*>(origin), bytes);
  } else {
    engine::copy_bytes(static_cast<std::byte*>(origin), remote, bytes);
  }
  return true;
}

/// Contiguous put or get by load and store. Returns false, with nothing done, if the memory cannot be reached
/// that way now; then call issue(). If it returns true, the transfer is complete at both sides, except for
/// the full fence that complete() makes.
template <OpKind direction, Lookup lookup = Lookup::usual>
inline bool try_direct(Target& target, void* origin, RemoteAddress address, std::size_t bytes) noexcept {
  std::byte* const remote = find_mapped<lookup>(*target.peer, address, bytes);
  return remote != nullptr && move_bytes<direction>(origin, remote, bytes);
}

/// Like try_direct(), but returns false for small segments too. It calls no function for the look-up, so that
/// a caller with nothing else to do saves no registers (Peer::translate_inline).
template <OpKind direction>
inline bool try_direct_inline(Target& target, void* origin, RemoteAddress address,
                              std::size_t bytes) noexcept {
  std::byte* const remote = target.peer->translate_inline(address, bytes);
  return remote != nullptr && move_bytes<direction>(origin, remote, bytes);
}

/// The last step of try_direct_accumulate() if element_atomic is set and the CPU has atomics for the element
/// type.
MPIX_INTERNAL_API void accumulate_elements(engine::StripeTable& table, engine::Reduction reduction,
                                           void const* origin, std::byte* remote, RemoteAddress address,
                                           std::size_t bytes) noexcept;

/// Contiguous accumulate by load and store. `reduction` is valid, `bytes` a multiple of its element. If its
/// element_atomic is set, at most one operation with OpFlags::element_atomic or atomic updates an element
/// at a time.
template <Lookup lookup = Lookup::usual>
inline bool try_direct_accumulate(Target& target, engine::Reduction const& reduction, void const* origin,
                                  RemoteAddress address, std::size_t bytes) noexcept {
  std::byte* const remote = find_mapped<lookup>(*target.peer, address, bytes);
  if (remote == nullptr) return false;
  bool const locked = reduction.element_atomic;
  if (locked && engine::has_cpu_atomics(reduction.type)) {
    accumulate_elements(*target.peer->stripes(), reduction, origin, remote, address, bytes);
    return true;
  }
  engine::StripeGuard const guard(*target.peer->stripes(),
                                  locked ? engine::stripes_of(address, address + bytes) : 0);
  engine::accumulate_contiguous(reduction, remote, static_cast<std::byte const*>(origin), bytes);
  return true;
}

/// Carries out any operation by load and store, with its atomicity and its notification. Returns false, with
/// nothing done, if that is impossible now; then call issue().
MPIX_INTERNAL_API bool try_direct_atomic(Target& target, engine::RmaOp const& operation) noexcept;

inline bool try_direct(Target& target, engine::RmaOp const& operation) noexcept {
  if (has(operation.flags, OpFlags::atomic) || operation.notify != 0)
    return try_direct_atomic(target, operation);
  engine::Extent const extent =
      operation.target_layout.is_contiguous()
          ? engine::Extent{0, static_cast<std::ptrdiff_t>(operation.target_layout.block)}
          : operation.target_layout.extent();
  auto const begin = operation.target + static_cast<std::uint64_t>(extent.begin);
  auto const end = operation.target + static_cast<std::uint64_t>(extent.end);
  std::byte* const mapped =
      target.peer->translate(begin, static_cast<std::size_t>(extent.end - extent.begin));
  if (mapped == nullptr) return false;
  engine::execute_with_stripes(operation, mapped - extent.begin, *target.peer->stripes(), begin, end);
  return true;
}

/// Carries out a sum, increment, swap or compare-and-swap for equality of one aligned 4- or 8-byte integer by
/// one instruction. Word is the unsigned type of that size. Returns false if the memory cannot be reached or
/// updated that way now, and for all other operations; then nothing is done, and `operand` is not read.
template <Lookup lookup = Lookup::usual, typename Word>
inline bool try_direct_rmw(Target& target, engine::ReduceOp operation, RemoteAddress address,
                           Word const& operand, Word operand2, Word* result) noexcept {
  if (address % sizeof(Word) != 0) return false;
  auto* const word = reinterpret_cast<Word*>(find_mapped<lookup>(*target.peer, address, sizeof(Word)));
  if (word == nullptr || !target.peer->stripes()->modes.is_by_element(address)) return false;
  return engine::update_word(word, operation, operand, operand2, result);
}

/// Fills in the context of the operation and starts it by the protocol that serves it.
MPIX_INTERNAL_API engine::Issued issue(Target& target, engine::RmaOp& operation);

/// Like issue(), but returns when the operation is complete at the level that its flags ask for.
MPIX_INTERNAL_API engine::Status issue_and_wait(Target& target, engine::RmaOp& operation);

/// Takes a lock of the target, as EngineLocks::acquire, and waits until the lock is held. If the request is
/// only an attempt, waits for the reply. Fills in the request's completion.
MPIX_INTERNAL_API engine::Status lock_and_wait(Target& target, engine::LockRequest& request);
/// As EngineLocks::release. complete() waits until the release is executed, and reports its failure.
MPIX_INTERNAL_API engine::Status unlock(Target& target, engine::LockId lock, std::uint32_t owner);

/// complete() for a target without outstanding messages. Returns false if messages are outstanding.
inline bool complete_stores(Target& target) noexcept {
  if (target.outstanding.is_set()) return false;
  // The stores leave this processor's buffer: from here on all processes see them.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return true;
}

/// complete() for a target with outstanding messages.
MPIX_INTERNAL_API engine::Status complete_messages(Target& target, LateFailure* failed = nullptr);

/// Waits until all that was issued through `target` is complete at the target. Returns the first error that
/// no request could report. `*failed` receives the operation with that error, and is unchanged without one.
inline engine::Status complete(Target& target, LateFailure* failed = nullptr) {
  return complete_stores(target) ? engine::Status::ok : complete_messages(target, failed);
}

/// complete() for every target of `communicator` that has operations outstanding. Returns the failure of the
/// first target that has one.
MPIX_INTERNAL_API engine::Status complete_all(Communicator& communicator, LateFailure* failed = nullptr);

/// Orders all that was issued through `target` before all that is issued later. Never waits. Always makes a
/// full memory barrier, even if this thread has not stored since the last one: to keep track of stores would
/// cost every put more than the barrier.
MPIX_INTERNAL_API void fence(Target& target) noexcept;

/// Orders all that was issued through `communicator` to any target before all that is issued later to any
/// target. Does not wait.
void fence_all(Communicator& communicator);

}  // namespace mpixrma
