/// Registrations of this process's segments with the network, made when a peer first asks for a key.
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "engine/net/ucx_context.hpp"
#include "engine/memory/segment_table.hpp"

namespace mpixrma::engine {

/// Thread-safe, because peers may request keys on any channel.
class Registrations {
 public:
  explicit Registrations(UcxContext const& context) : context_(context) {}

  std::vector<std::byte> key_of(OwnSegment const& segment);
  /// Whether a peer has requested the key of the segment.
  bool has(OwnSegment const& segment) const {
    std::lock_guard const held(lock_);
    return registered_.contains(segment.generation);
  }
  void remove(OwnSegment const& segment) noexcept { remove(segment.generation); }
  void clear() noexcept;

 private:
  struct Registration {
    ucp_mem_h memory = nullptr;
    std::vector<std::byte> key;
  };

  void remove(std::uint64_t generation) noexcept;

  UcxContext const& context_;
  mutable std::mutex lock_;
  std::map<std::uint64_t, Registration> registered_;  ///< by the segment's generation
};

}  // namespace mpixrma::engine
