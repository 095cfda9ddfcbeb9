#include "nam/protocol/error.hpp"

#include <algorithm>
#include <array>

namespace mpixrma::nam {

namespace {

constexpr std::array<std::string_view, 11> names{"bad_request", "denied",   "not_found",   "exists",
                                                 "no_space",    "quota",    "unsupported", "unavailable",
                                                 "malformed",   "internal", "damaged"};

}  // namespace

std::string_view to_string(ErrorCode code) noexcept { return names[static_cast<std::size_t>(code)]; }

ErrorCode error_code(std::string_view name) noexcept {
  auto const found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? ErrorCode::internal : static_cast<ErrorCode>(found - names.begin());
}

}  // namespace mpixrma::nam
