/** Version of the engine's library, for libraries that are loaded beside it and may come from another
 * installation. */
#ifndef MPIX_ENGINE_VERSION_H
#define MPIX_ENGINE_VERSION_H

#include "engine/base/visibility.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the version, such as "0.1.0": a static string. */
MPIX_ENGINE_API const char* mpix_engine_version(void);

#ifdef __cplusplus
}
#endif
#endif
