/** Sessions of an engine that serves processes of several users: each session has an address with its own
 * secret and ends separately. For engines with mpix_engine_config::exposed_only. Plain C. */
#ifndef MPIX_ENGINE_SESSIONS_H
#define MPIX_ENGINE_SESSIONS_H

#include "engine/runtime/mpix_engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Creates a session. `take` is called once, before the call returns, with an address that is valid for
 * this session only; its receiver passes it to mpix_engine_find_peer_at. `*session` identifies the
 * session. Any thread. UNSUPPORTED: the engine does not have exposed_only; OUT_OF_MEMORY. */
MPIX_ENGINE_API int mpix_engine_open_session(mpix_engine_t* engine,
                                             void (*take)(void* context, const void* address, size_t length),
                                             void* context, uint64_t* session);

/** Ends a session: when the call returns, no message of it is executed any more, and its address is
 * invalid. Its connections are closed. Any thread except in UCX callbacks. BAD_ARGUMENT: no such session. */
MPIX_ENGINE_API int mpix_engine_close_session(mpix_engine_t* engine, uint64_t session);

/** Destroys the UCX keys that were known to processes of ended or lost sessions, once all other processes
 * have returned these keys; they get new ones on request. Must be called after the end of a session, and
 * from time to time. Any thread except in UCX callbacks. OUT_OF_MEMORY: try again later. */
MPIX_ENGINE_API int mpix_engine_renew_keys(mpix_engine_t* engine);

/** The reason for which a session has ended before it was closed. */
enum mpix_engine_session_end {
  MPIX_ENGINE_SESSION_GOES_ON = 0,
  MPIX_ENGINE_SESSION_CONNECTION_LOST, /**< with mpix_engine_config::encrypt: its connection was lost, or
                                          carried an encrypted message that was changed */
  MPIX_ENGINE_SESSION_PROCESSES,       /**< more processes wanted to use it than
                                            mpix_engine_config::session_processes */
  MPIX_ENGINE_SESSION_REPLIES          /**< a process of the session sends requests, and does not take the
                                            replies */
};

/** Returns whether and why the session has ended before it was closed: an mpix_engine_session_end. An ended
 * session must still be closed. Any thread. */
MPIX_ENGINE_API int mpix_engine_session_has_ended(mpix_engine_t* engine, uint64_t session);

#ifdef __cplusplus
}
#endif
#endif
