/// Memory for what OTF2 writes: a few chunks for each file, which are used again after they are written.
#pragma once

#include <otf2/otf2.h>

namespace mpixrma::engine {

/// Without it OTF2 keeps 128 MiB of a thread's events in memory.
OTF2_ErrorCode limit_chunk_memory(OTF2_Archive* archive) noexcept;

}  // namespace mpixrma::engine
