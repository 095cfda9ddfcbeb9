/// Memory of this process that others may access.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/base/visibility.h"
#include "engine/memory/allocation_hints.hpp"
#include "engine/memory/registrar.hpp"
#include "engine/op/exposure.hpp"
#include "engine/op/operation.hpp"
#include "engine/runtime/waits.hpp"

namespace mpixrma::engine {

struct MemoryRights;

/// The access of peers to registered memory.
enum class PeerAccess : std::uint8_t { as_permitted, read, write };

class MPIX_ENGINE_API EngineMemory {
 public:
  EngineMemory(EngineState& state, EngineWaits& waits) noexcept : state_(state), waits_(waits) {}

  /// Allocates memory that peers on this host access by load and store. Aligned to at least 64 bytes. Local.
  /// bad_argument: 0 bytes, or an alignment that is not a power of two or beyond 1 GiB; out_of_memory: the
  /// machine has too little left.
  Status allocate(std::size_t bytes, AllocationHints const& hints, void** base);
  Status allocate(std::size_t bytes, void** base) { return allocate(bytes, {}, base); }
  /// For state of the library (AllocationHints::internal).
  Status allocate_internal(std::size_t bytes, void** base) {
    AllocationHints hints;
    hints.internal = true;
    return allocate(bytes, hints, base);
  }
  /// Returns the first address, from `from` and the configured base on, at which `bytes` bytes are unmapped;
  /// 0: none.
  RemoteAddress unused_addresses(RemoteAddress from, std::size_t bytes, std::size_t alignment) const noexcept;
  /// Frees memory from allocate(), and ends registrations in it. Returns when no peer can access it any more.
  /// bad_argument: not from allocate().
  Status free(void* base);
  /// Whether free() would free `base`.
  bool is_allocated(void const* base) const;
  /// Registers memory for the fastest possible access. Registrations may overlap; those of user memory then
  /// form one segment. Registrations of memory from allocate() must stay within one allocation and have no
  /// effect. bad_argument: empty, or beyond the end of an allocation; bad_address: not mapped, or not
  /// readable; not_writable: `access` is write, and the memory is read-only; device_memory. Allocates
  /// pages only if `bytes` is at most 16 KiB.
  Status attach(void* base, std::size_t bytes, PeerAccess access = PeerAccess::as_permitted,
                Registrar registrar = Registrar::host);
  /// As the other attach(); `*found` receives the rights of this process to the memory.
  Status attach(void* base, std::size_t bytes, PeerAccess access, Registrar registrar, MemoryRights* found);
  /// Ends the newest registration of `bytes` bytes at `base` by `registrar`, of any length if 0. Returns when
  /// no peer can access the memory through it any more. bad_argument: not registered so.
  Status detach(void* base, std::size_t bytes = 0, Registrar registrar = Registrar::host);
  /// As detach() without the wait for the memory in `*left`. With all channels locked.
  Status start_detach(void const* base, std::size_t bytes, Registrar registrar, WithdrawnExposure* left);

 private:
  Status try_to_allocate(std::size_t bytes, AllocationHints const& hints, void** base);
  Status find_rights(void const* base, std::size_t bytes, MemoryRights* found) const;
  void wait_until_dropped(ExposureId id);
  void wait_until_dropped(RemoteAddress begin, RemoteAddress end);
  void wait_until_replies_are_sent();

  EngineState& state_;
  EngineWaits& waits_;
};

}  // namespace mpixrma::engine
