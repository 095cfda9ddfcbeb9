/// Buffers for the output of OTF2: a few chunks for each file, which are reused after they are written.
#pragma once

#include <otf2/otf2.h>

namespace mpixrma::engine {

/// Makes the archive use these chunks: by default OTF2 keeps 128 MiB of a thread's events in memory.
OTF2_ErrorCode limit_chunk_memory(OTF2_Archive* archive) noexcept;

}  // namespace mpixrma::engine
