/** The symbols that libmpix_engine exports. */
#ifndef MPIX_ENGINE_VISIBILITY_H
#define MPIX_ENGINE_VISIBILITY_H

#define MPIX_ENGINE_API __attribute__((visibility("default")))

#endif
