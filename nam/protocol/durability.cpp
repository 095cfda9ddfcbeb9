#include "nam/protocol/durability.hpp"

#include <array>
#include <cstddef>
#include <string>

#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::array<char const*, 3> durabilities{"clients", "server", "storage"};

}  // namespace

Durability parse_durability(std::string_view name) {
  for (std::size_t i = 0; i < durabilities.size(); ++i) {
    if (name == durabilities[i]) return static_cast<Durability>(i);
  }
  throw Error(ErrorCode::bad_request,
              "the durability is clients, server or storage, not '" + std::string(name) + "'");
}

char const* to_string(Durability durability) noexcept {
  return durabilities[static_cast<std::size_t>(durability)];
}

}  // namespace mpixrma::nam
