#include "engine/trace/otf2/otf2_error.hpp"

#include <atomic>
#include <stdexcept>

namespace mpixrma::engine {

namespace {

std::atomic<OTF2_ErrorCode> first_error{OTF2_SUCCESS};

OTF2_ErrorCode note(void*, char const*, std::uint64_t, char const*, OTF2_ErrorCode code, char const*,
                    va_list) noexcept {
  OTF2_ErrorCode none = OTF2_SUCCESS;
  first_error.compare_exchange_strong(none, code);
  return code;
}

}  // namespace

void check_otf2(OTF2_ErrorCode code) {
  if (code == OTF2_SUCCESS) return;
  OTF2_ErrorCode const cause = first_error.load();  // which has caused the later ones
  throw std::runtime_error(OTF2_Error_GetDescription(cause != OTF2_SUCCESS ? cause : code));
}

void watch_otf2_errors() noexcept {
  first_error = OTF2_SUCCESS;
  OTF2_Error_RegisterCallback(note, nullptr);
}

}  // namespace mpixrma::engine
