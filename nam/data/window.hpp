/// A segment of a grant: the memory of one window, with a region for each rank of its creators.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nam/process/identity.hpp"
#include "nam/protocol/channel.hpp"
#include "nam/protocol/durability.hpp"

namespace mpixrma::nam {

struct Region {
  std::uint64_t offset = 0;  ///< in the grant
  std::uint64_t bytes = 0;
  std::uint64_t unit = 1;  ///< of displacements, bytes
};

struct Window {
  std::string id;
  bool persistent = false;
  Ownership ownership;
  Durability durability = Durability::clients;
  std::uint64_t offset = 0;  ///< in the grant
  std::uint64_t bytes = 0;   ///< of all regions
  std::vector<Region> regions;
  std::vector<std::string> other_parts =
      {};                         ///< port names, of a persistent window that is spread over grants
  std::uint64_t chunk_bytes = 0;  ///< of a part of a window whose regions are striped
};

/// Regions are aligned to this.
inline constexpr std::uint64_t region_alignment = 64;

/// Places regions of these sizes one behind the other from 0 on, and returns the bytes of all. Throws
/// Error(bad_request).
std::uint64_t lay_out(std::vector<std::uint64_t> const& sizes, std::vector<std::uint64_t> const& units,
                      std::vector<Region>* regions);

/// Returns about how many bytes the window's description takes as text (to_json).
std::uint64_t metadata_bytes(Window const& window) noexcept;

/// The form in which a window travels between the server's processes and is kept in the catalog.
Json to_json(Window const& window);
/// Throws Error(malformed).
Window window_from(Json const& json);

}  // namespace mpixrma::nam
