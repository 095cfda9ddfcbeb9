#include "engine/memory/memory_type.hpp"

#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>

#include "engine/memory/probe.hpp"

#if MPIX_MEMTYPE_CACHE
#include <ucs/memory/memtype_cache.h>
#endif

namespace mpixrma::engine {

namespace {

/// Managed memory moves to the processor that accesses it.
constexpr std::uint64_t touchable = UCS_MEMORY_TYPES_CPU_ACCESSIBLE | UCS_BIT(UCS_MEMORY_TYPE_CUDA_MANAGED);

/// The first type of the context that the processor may not be able to touch; nullptr: none.
char const* known_device(ucp_context_h context) {
  ucp_context_attr_t attributes{};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  if (ucp_context_query(context, &attributes) != UCS_OK) return nullptr;
  for (unsigned type = 0; type < UCS_MEMORY_TYPE_LAST; ++type) {
    if ((attributes.memory_types & ~touchable & UCS_BIT(type)) == 0) continue;
    std::string_view const name = ucs_memory_type_names[type];
    if (name == "rdma") continue;  // memory of a network adapter: programs have no addresses in it
    return name.data();
  }
  return nullptr;
}

enum class Kind { host, device, unknown };

/// Returns the kind of the memory as UCX's memory type cache knows it.
Kind kind_of([[maybe_unused]] void const* begin, [[maybe_unused]] std::size_t bytes) noexcept {
#if MPIX_MEMTYPE_CACHE
  ucs_memory_info_t info{};
  ucs_status_t const status = ucs_memtype_cache_lookup(begin, bytes, &info);
  if (status == UCS_ERR_NO_ELEM) return Kind::host;
  if (status == UCS_OK && info.type != UCS_MEMORY_TYPE_UNKNOWN)
    return (touchable & UCS_BIT(info.type)) != 0 ? Kind::host : Kind::device;
#endif
  return Kind::unknown;
}

}  // namespace

bool DeviceMemory::are_devices_present() noexcept {
  // Device files of NVIDIA's driver (also on Tegra and in WSL), of AMD's, and of Intel's and other graphics.
  constexpr char const* nodes[] = {
      "/dev/nvidiactl", "/dev/nvhost-ctrl-gpu", "/dev/nvgpu", "/dev/dxg", "/dev/kfd", "/dev/dri"};
  return std::any_of(std::begin(nodes), std::end(nodes),
                     [](char const* node) { return ::access(node, F_OK) == 0; });
}

void DeviceMemory::open(ucp_context_h context) {
  known_kind_ = context != nullptr ? known_device(context) : nullptr;
  possible_ = known_kind_ != nullptr;
  char const* const range = std::getenv("MPIX_TEST_DEVICE_MEMORY");
  if (range != nullptr && std::sscanf(range, "%" SCNxPTR "-%" SCNxPTR, &test_begin_, &test_end_) == 2)
    possible_ = true;
}

bool DeviceMemory::holds(void const* begin, std::size_t bytes, Access access) const noexcept {
  if (!possible_ || bytes == 0) return false;
  auto const address = reinterpret_cast<std::uintptr_t>(begin);
  if (address < test_end_ && test_begin_ < address + bytes) return true;
  Kind const kind = kind_of(begin, bytes);
  // If UCX does not know the kind, it is enough that the access does not end the process.
  return kind == Kind::device || (kind == Kind::unknown && !accessible(begin, bytes, access));
}

bool DeviceMemory::holds(std::byte const* base, Layout const& layout, Access access) const noexcept {
  LayoutCursor cursor(layout);
  while (cursor.remaining() != 0) {
    LayoutRun const run = cursor.next();
    if (holds(base + run.offset, run.length, access)) return true;
  }
  return false;
}

bool DeviceMemory::holds_origin_of(RmaOp const& operation) const noexcept {
  if (!possible_) return false;
  unsigned const operands = operation.operands();
  return (operands > 0 && holds(operation.origin, operation.origin_layout, Access::read)) ||
         (operands > 1 && holds(operation.operand2, operation.origin_layout, Access::read)) ||
         (operation.fetches() && holds(operation.sink(), operation.sink_layout(), Access::write));
}

}  // namespace mpixrma::engine
