/**
 * Sessions of an engine that serves processes of several users: each has an address with a secret of its own,
 * and ends on its own. For engines with mpix_engine_config::exposed_only. Plain C.
 */
#ifndef MPIX_ENGINE_SESSIONS_H
#define MPIX_ENGINE_SESSIONS_H

#include "engine/runtime/mpix_engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Makes a session. `take` is called once, before the call returns, with an address that is valid for this
 *  session only; its receiver passes it to mpix_engine_find_peer_at. `*session` names the session. Any
 * thread. UNSUPPORTED: the engine is not one for exposed memory only; OUT_OF_MEMORY. */
MPIX_ENGINE_API int mpix_engine_open_session(mpix_engine_t* engine,
                                             void (*take)(void* context, const void* address, size_t length),
                                             void* context, uint64_t* session);

/** Ends a session: when the call returns, no message of it is executed any more, and its address admits
 * nobody. Its connections are closed. Any thread but UCX's callbacks. BAD_ARGUMENT: there is no such session.
 */
MPIX_ENGINE_API int mpix_engine_close_session(mpix_engine_t* engine, uint64_t session);

/** Destroys the keys for UCX put and get that processes of sessions had which have ended or are lost, once all
 * others have given them back, which get new ones. To be called after the end of a session, and now and then. Any
 * thread but UCX's callbacks. OUT_OF_MEMORY: another call may do it. */
MPIX_ENGINE_API int mpix_engine_renew_keys(mpix_engine_t* engine);

/** Nonzero when the session has ended otherwise: its connection was lost, or carried an encrypted message
 * that was changed. Of engines with mpix_engine_config::encrypt; in others a session lasts until it is
 * closed. Any thread. */
MPIX_ENGINE_API int mpix_engine_session_is_lost(mpix_engine_t* engine, uint64_t session);

#ifdef __cplusplus
}
#endif
#endif
