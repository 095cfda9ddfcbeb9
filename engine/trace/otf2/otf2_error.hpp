/// Errors of OTF2 as exceptions.
#pragma once

#include <otf2/otf2.h>

namespace mpixrma::engine {

/// Throws std::runtime_error if the code is an error, with the text of OTF2's first error since
/// watch_otf2_errors().
void check_otf2(OTF2_ErrorCode code);

/// Makes OTF2 record its first error instead of printing errors.
void watch_otf2_errors() noexcept;

}  // namespace mpixrma::engine
