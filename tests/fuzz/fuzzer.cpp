/// libFuzzer's entry; MPIX_FUZZ_TARGET is one of the targets.
#include <cstdint>

#include "tests/fuzz/targets.hpp"

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t bytes) {
  (void)mpixrma::fuzz::MPIX_FUZZ_TARGET({reinterpret_cast<std::byte const*>(data), bytes});
  return 0;
}
