/// The C interface: sessions that end separately.
#include "engine/runtime/sessions.h"

#include <cstring>
#include <exception>
#include <new>

#include "engine/net/session.hpp"
#include "engine/runtime/c_handles.hpp"
#include "engine/runtime/engine.hpp"

namespace {

using namespace mpixrma::engine;

/// Returns a session number as random as the secrets, outside the range of process identities in jobs.
std::uint64_t session_of(Credentials const& random) noexcept {
  std::uint64_t session = 0;
  std::memcpy(&session, random.nonce.data(), sizeof session);
  return session | std::uint64_t{0xffff} << 48;
}

Status open_session(Engine& engine, std::vector<std::byte>* published, std::uint64_t* session) {
  auto const sessions = SessionSecrets::of(engine.process());
  ProcessAddress address;
  Secret ignored;
  if (sessions == nullptr || !read_published(engine.address(), &address, &ignored))
    return Status::unsupported;
  Credentials made = Credentials::make(0);
  while (!sessions->add(session_of(made), made.secret)) made = Credentials::make(0);
  *session = address.process = session_of(made);
  *published = publish(address, made.secret);
  return Status::ok;
}

}  // namespace

int mpix_engine_open_session(mpix_engine_t* engine,
                             void (*take)(void* context, void const* address, std::size_t length),
                             void* context, std::uint64_t* session) {
  try {
    std::vector<std::byte> published;
    Status const status = open_session(engine_of(engine), &published, session);
    if (!failed(status)) take(context, published.data(), published.size());
    return static_cast<int>(status);
  } catch (std::bad_alloc const&) {
    return MPIX_ENGINE_OUT_OF_MEMORY;
  }
}

int mpix_engine_close_session(mpix_engine_t* engine, std::uint64_t session) {
  try {
    auto const sessions = SessionSecrets::of(engine_of(engine).process());
    return sessions != nullptr && sessions->remove(session) ? MPIX_ENGINE_OK : MPIX_ENGINE_BAD_ARGUMENT;
  } catch (std::bad_alloc const&) {
    return MPIX_ENGINE_OUT_OF_MEMORY;
  }
}

static_assert(static_cast<int>(SessionEnd::connection_lost) == MPIX_ENGINE_SESSION_CONNECTION_LOST &&
              static_cast<int>(SessionEnd::too_many_processes) == MPIX_ENGINE_SESSION_PROCESSES &&
              static_cast<int>(SessionEnd::replies_not_taken) == MPIX_ENGINE_SESSION_REPLIES);

int mpix_engine_session_has_ended(mpix_engine_t* engine, std::uint64_t session) {
  auto const sessions = SessionSecrets::of(engine_of(engine).process());
  auto const end = sessions != nullptr ? sessions->end_of(session) : std::nullopt;
  return end ? static_cast<int>(*end) : MPIX_ENGINE_SESSION_GOES_ON;
}

int mpix_engine_renew_keys(mpix_engine_t* engine) {
  try {
    engine_of(engine).exposures.renew_keys();
    return MPIX_ENGINE_OK;
  } catch (std::bad_alloc const&) {
    return MPIX_ENGINE_OUT_OF_MEMORY;
  }
}
