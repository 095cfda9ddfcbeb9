/// Unsent connection messages of a connection that ends. UCX 1.13 asserts that no connection message is
/// pending when an endpoint fails, so a client that is killed while it connects would abort the data process.
/// This file overrides the function that UCX calls for each unsent request. The replacement ignores
/// connection messages: they are never freed, but small.
#include <dlfcn.h>

namespace {

/// The beginning of uct_pending_req_t (uct/api/uct.h). `send` identifies the kind of request.
struct UnsentRequest {
  int (*send)(UnsentRequest*);
};

using Purge = void (*)(UnsentRequest*, void*);
using Send = int (*)(UnsentRequest*);
using GetVersion = void (*)(unsigned* major, unsigned* minor, unsigned* release);

/// Returns UCX's function that sends connection messages; nullptr for versions without the assertion.
Send sender_of_asserted() noexcept {
  auto const get_version = reinterpret_cast<GetVersion>(::dlsym(RTLD_DEFAULT, "ucp_get_version"));
  unsigned major = 0;
  unsigned minor = 0;
  unsigned release = 0;
  if (get_version != nullptr) get_version(&major, &minor, &release);
  if (major != 1 || minor >= 14) return nullptr;
  return reinterpret_cast<Send>(::dlsym(RTLD_DEFAULT, "ucp_wireup_msg_progress"));
}

}  // namespace

/// Replaces UCX's function of this name.
extern "C" __attribute__((visibility("default"))) void ucp_ep_err_pending_purge(UnsentRequest* request,
                                                                                void* status) {
  static auto const purge = reinterpret_cast<Purge>(::dlsym(RTLD_NEXT, "ucp_ep_err_pending_purge"));
  static Send const asserted = sender_of_asserted();
  if (asserted == nullptr || request->send != asserted) purge(request, status);
}
