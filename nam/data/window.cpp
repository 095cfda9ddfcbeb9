#include "nam/data/window.hpp"

#include <string>

namespace mpixrma::nam {

namespace {

constexpr std::uint64_t largest = std::uint64_t{1} << 62;

}  // namespace

std::uint64_t lay_out(std::vector<std::uint64_t> const& sizes, std::vector<std::uint64_t> const& units,
                      std::vector<Region>* regions) {
  if (sizes.empty() || sizes.size() != units.size())
    throw Error(ErrorCode::bad_request, "a window has a size and a unit for each rank");
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::uint64_t const begin = (end + region_alignment - 1) / region_alignment * region_alignment;
    std::string const rank = "rank " + std::to_string(i);
    if (units[i] == 0) throw Error(ErrorCode::bad_request, "the displacement unit of " + rank + " is 0");
    if (sizes[i] > largest - begin)
      throw Error(ErrorCode::no_space,
                  "the " + std::to_string(sizes[i]) + " bytes of " + rank + " exceed the address space");
    regions->push_back({begin, sizes[i], units[i]});
    end = begin + sizes[i];
  }
  return end;
}

std::uint64_t metadata_bytes(Window const& window) noexcept {
  constexpr std::uint64_t fixed = 256;  ///< identifier, owner, mode, durability
  constexpr std::uint64_t of_region = 8;
  std::uint64_t bytes = fixed + of_region * window.regions.size();
  for (std::string const& part : window.other_parts) bytes += part.size() + 3;
  return bytes;
}

Json to_json(Window const& window) {
  std::vector<std::uint64_t> sizes;
  std::vector<std::uint64_t> units;
  for (Region const& region : window.regions) {
    sizes.push_back(region.bytes);
    units.push_back(region.unit);
  }
  Json json{{"window", window.id},
            {"owner", window.ownership.owner},
            {"group", window.ownership.group},
            {"mode", window.ownership.mode},
            {"durability", to_string(window.durability)},
            {"offset", window.offset},
            {"persistent", window.persistent},
            {"sizes", sizes},
            {"units", units}};
  if (!window.other_parts.empty()) json["other_parts"] = window.other_parts;
  if (window.chunk_bytes != 0) json["stripe"] = window.chunk_bytes;
  return json;
}

Window window_from(Json const& json) {
  Window window;
  window.id = field<std::string>(json, "window");
  window.persistent = field<bool>(json, "persistent");
  window.ownership = {field<uid_t>(json, "owner"), field<gid_t>(json, "group"),
                      field<unsigned>(json, "mode")};
  window.durability = parse_durability(field<std::string>(json, "durability"));
  window.other_parts = field_or<std::vector<std::string>>(json, "other_parts", {});
  window.chunk_bytes = field_or<std::uint64_t>(json, "stripe", 0);
  window.offset = field<std::uint64_t>(json, "offset");
  window.bytes = lay_out(field<std::vector<std::uint64_t>>(json, "sizes"),
                         field<std::vector<std::uint64_t>>(json, "units"), &window.regions);
  for (Region& region : window.regions) region.offset += window.offset;
  return window;
}

}  // namespace mpixrma::nam
