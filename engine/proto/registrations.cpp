#include "engine/proto/registrations.hpp"

#include <utility>

namespace mpixrma::engine {

std::vector<std::byte> Registrations::key_of(OwnSegment const& segment) {
  std::lock_guard const held(lock_);
  auto const known = registered_.find(segment.generation);
  if (known != registered_.end()) return known->second.key;
  ucp_mem_map_params_t params{};
  params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
  params.address = reinterpret_cast<void*>(segment.base);
  params.length = segment.length;
  Registration registration;
  if (ucp_mem_map(context_.get(), &params, &registration.memory) != UCS_OK) return {};
  void* packed = nullptr;
  std::size_t bytes = 0;
  if (ucp_rkey_pack(context_.get(), registration.memory, &packed, &bytes) == UCS_OK) {
    auto const* const begin = static_cast<std::byte const*>(packed);
    registration.key.assign(begin, begin + bytes);
    ucp_rkey_buffer_release(packed);
  }
  auto key = registration.key;
  registered_.emplace(segment.generation, std::move(registration));
  return key;
}

void Registrations::remove(std::uint64_t generation) noexcept {
  std::lock_guard const held(lock_);
  auto const found = registered_.find(generation);
  if (found == registered_.end()) return;
  (void)ucp_mem_unmap(context_.get(), found->second.memory);
  registered_.erase(found);
}

void Registrations::clear() noexcept {
  while (!registered_.empty()) remove(registered_.begin()->first);
}

}  // namespace mpixrma::engine
