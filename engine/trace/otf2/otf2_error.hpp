/// Errors of OTF2 as exceptions.
#pragma once

#include <otf2/otf2.h>

namespace mpixrma::engine {

/// Throws std::runtime_error if the code is an error, with the text of the first one since
/// watch_otf2_errors().
void check_otf2(OTF2_ErrorCode code);

/// Keeps OTF2 from printing its errors.
void watch_otf2_errors() noexcept;

}  // namespace mpixrma::engine
