/// The kernel's map of this process's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/base/access.hpp"
#include "engine/base/status.hpp"

namespace mpixrma::engine {

/// Access rights of the process to every byte of a range.
struct MemoryRights {
  bool mapped = false;  ///< the range has no gap, and no file that is mapped readable ends within it
  bool readable = false;
  bool writable = false;
};

/// Looks at the kernel's map: allocates no pages and takes no lock of the engine. If the size of a mapped
/// file cannot be determined, reads the file's last page in the range; if the map cannot be opened, touches
/// every page of the range. Otherwise the time does not grow with `bytes`, but with the number of mappings in
/// the range; before Linux 6.11, with the number of all mappings. Another thread may change the mapping at
/// any time.
MemoryRights rights_of(void const* begin, std::size_t bytes) noexcept;

/// Returns the lowest multiple of `alignment`, a power of two, in [begin, end) where `bytes` unmapped bytes
/// begin, all below `end`; 0 if there is none, or if the map cannot be read.
std::uintptr_t first_unmapped(std::uintptr_t begin, std::uintptr_t end, std::size_t bytes,
                              std::size_t alignment) noexcept;

namespace detail {
/// The two implementations of rights_of(), for a range that does not wrap around: by a query for each
/// mapping, or by the text of the map. The first returns nullopt if the map cannot be opened, or if the
/// kernel does not support queries.
std::optional<MemoryRights> query_rights(void const* begin, std::size_t bytes) noexcept;
MemoryRights read_rights(void const* begin, std::size_t bytes) noexcept;
}  // namespace detail

/// Returns the reason why an access fails: not_writable for a write to readable memory, else bad_address.
Status reason_for_fault(void const* begin, std::size_t bytes, Access access) noexcept;

}  // namespace mpixrma::engine
