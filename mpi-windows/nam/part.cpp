#include "mpi-windows/nam/part.hpp"

#include <utility>

#include "mpi-windows/nam/guest.hpp"
#include "mpi-windows/nam/mapped.hpp"
#include "mpi-windows/nam/remote.hpp"
#include "nam/client/secrets.hpp"

namespace mpixrma::windows {

namespace {

/// Returns the grant if its memory can be mapped, else nullptr. `control` is as in NamGrant::of; 0: unknown.
std::shared_ptr<NamGrant> find_mapped(nam::Locator const& locator, std::uint64_t control = 0) {
  if (RemoteGrant::known(locator) != nullptr) return nullptr;
  try {
    return control != 0 ? NamGrant::of(locator, control) : NamGrant::of(locator);
  } catch (nam::Error const& error) {
    if (error.code() != nam::ErrorCode::unsupported) throw;
    return nullptr;
  }
}

/// Returns the grant for access from another host. `encrypt`: fail unless data is encrypted.
std::shared_ptr<RemoteGrant> find_remote(nam::Locator const& locator, bool encrypt) {
  auto grant = RemoteGrant::of(locator);
  if (encrypt) nam::demand_encryption(grant->address());
  return grant;
}

/// Joins a window that another process has opened, with a session of this process.
nam::WindowInfo join_window(NamSession& session, nam::WindowInfo const& window) {
  nam::WindowInfo info = session.with_session([&](nam::Session& open) { return open.join(window.id); });
  info.port = window.port;
  return info;
}

std::unique_ptr<NamWindow> join_remote(nam::Locator const& locator, nam::WindowInfo const& window,
                                       bool encrypt) {
  auto grant = find_remote(locator, encrypt);
  nam::WindowInfo info = join_window(*grant, window);
  return make_remote(std::move(grant), std::move(info));
}

/// `locator` is the grant's.
std::unique_ptr<NamWindow> join_guest(nam::Locator const& locator, nam::WindowInfo const& window) {
  auto session = GuestSession::of({locator.grant, window.id, locator.address});
  nam::WindowInfo info = join_window(*session, window);
  return make_guest(std::move(session), std::move(info));
}

}  // namespace

std::unique_ptr<ServedWindow> allocate_in(nam::Locator const& grant, std::vector<std::uint64_t> const& sizes,
                                          std::vector<std::uint64_t> const& units,
                                          nam::WindowOptions const& options) {
  if (auto mapped = find_mapped(grant)) {
    nam::WindowInfo info = mapped->allocate(sizes, units, options);
    return make_mapped(std::move(mapped), std::move(info));
  }
  auto remote = find_remote(grant, options.encrypt);
  nam::WindowInfo info =
      remote->with_session([&](nam::Session& session) { return session.allocate(sizes, units, options); });
  return make_remote(std::move(remote), std::move(info));
}

/// `encrypt` needs no check for a guest: its requests are encrypted on every network.
std::unique_ptr<NamWindow> connect_to(nam::WindowInfo window, nam::Session session, bool encrypt) {
  nam::Locator const locator = nam::parse_locator(window.port);
  if (!window.owns_grant) return make_guest(GuestSession::of(locator, std::move(session)), std::move(window));
  { nam::Session const ended = std::move(session); }  // end this session before another one is opened
  if (auto grant = find_mapped(locator)) return make_mapped(std::move(grant), std::move(window));
  return join_remote(locator, window, encrypt);
}

std::unique_ptr<NamWindow> join_part(NamGrantPart const& part, NamJoinOptions how) {
  if (!part.secret.empty()) nam::set_secret(part.grant.address, nam::secret_from_hex(part.secret));
  if (!part.window.owns_grant) return join_guest(part.grant, part.window);
  auto grant = how.is_mapped ? NamGrant::mapped(part.grant, part.control) : nullptr;
  if (grant == nullptr) grant = find_mapped(part.grant, part.control);
  if (grant != nullptr) return make_mapped(std::move(grant), part.window);
  return join_remote(part.grant, part.window, how.encrypt);
}

}  // namespace mpixrma::windows
