#include "hosts/common/hosted.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/base/fork.hpp"

namespace {

constinit std::atomic<mpix_engine_t*> engine{nullptr};
constinit mpix_host_ops const* operations = nullptr;
constinit char refusal[256] = "";
constinit std::atomic<bool> opens_early{false};
constinit std::atomic<mpix_host_opener> opener{nullptr};

// The engine belongs to the parent.
mpixrma::engine::ChildHandler const child_handler{+[]() noexcept {
  mpix_host_offer_opener(nullptr);
  mpix_host_offer(nullptr, nullptr);
}};

}  // namespace

void mpix_host_offer(mpix_engine_t* offered, const struct mpix_host_ops* ops) {
  operations = ops;
  engine.store(offered, std::memory_order_release);  // also publishes `operations` to the acquire below
}

mpix_engine_t* mpix_host_engine(void) { return engine.load(std::memory_order_acquire); }

const struct mpix_host_ops* mpix_host_operations(void) { return operations; }

void mpix_host_request_early_open(void) { opens_early.store(true, std::memory_order_relaxed); }
int mpix_host_early_open_requested(void) { return opens_early.load(std::memory_order_relaxed) ? 1 : 0; }

void mpix_host_offer_opener(mpix_host_opener offered) { opener.store(offered, std::memory_order_release); }
int mpix_host_open(void) {
  mpix_host_opener const open = opener.load(std::memory_order_acquire);
  return open != nullptr ? open() : -1;
}
int mpix_host_can_open(void) { return opener.load(std::memory_order_acquire) != nullptr ? 1 : 0; }

void mpix_host_read_environment(struct mpix_engine_config* config) {
  char const* const trace = std::getenv("MPIX_RMA_TRACE");
  if (trace != nullptr && *trace != '\0' && std::strcmp(trace, "0") != 0) config->trace = trace;
}

int mpix_host_is_public(void) {
  char const* const chosen = std::getenv("MPIX_HOST");
  return chosen != nullptr && std::strcmp(chosen, "public") == 0 ? 1 : 0;
}

void mpix_host_set_unavailable(const char* reason) { std::snprintf(refusal, sizeof refusal, "%s", reason); }

const char* mpix_host_unavailable_reason(void) { return refusal; }
