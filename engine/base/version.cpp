#include "engine/base/version.h"

char const* mpix_engine_version(void) { return MPIX_VERSION; }
