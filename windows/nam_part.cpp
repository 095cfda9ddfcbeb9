#include "windows/nam_part.hpp"

#include <utility>

#include "nam/client/secrets.hpp"
#include "windows/nam_mapped.hpp"
#include "windows/nam_remote.hpp"

namespace mpix::windows {

namespace {

using nam::Json;

/// The grant where its memory can be mapped; nullptr: it cannot. `control` as of NamGrant::of; 0: not known.
std::shared_ptr<NamGrant> find_mapped(nam::Locator const& locator, std::uint64_t control = 0) {
  if (RemoteGrant::known(locator) != nullptr) return nullptr;
  try {
    return control != 0 ? NamGrant::of(locator, control) : NamGrant::of(locator);
  } catch (nam::Error const& error) {
    if (error.code() != nam::ErrorCode::unsupported) throw;
    return nullptr;
  }
}

/// What another process has asked the server for, told to a session of this one.
std::unique_ptr<NamWindow> join_remote(nam::Locator const& locator, nam::WindowInfo const& window) {
  auto grant = RemoteGrant::of(locator);
  nam::WindowInfo info = grant->ask([&](nam::Session& session) { return session.join(window.id); });
  info.port = window.port;
  return make_remote(std::move(grant), std::move(info));
}

nam::WindowInfo window_from(Json const& told) {
  nam::WindowInfo info;
  info.id = nam::field<std::string>(told, "window");
  info.port = nam::field<std::string>(told, "port");
  info.slot = nam::field<nam::SharedControl::Slot>(told, "slot");
  info.generation = nam::field<std::uint64_t>(told, "generation");
  for (Json const& region : told.at("regions"))
    info.regions.push_back({region.at(0), region.at(1), region.at(2)});
  return info;
}

}  // namespace

std::unique_ptr<ServedWindow> allocate_in(nam::Locator const& grant, std::vector<std::uint64_t> const& sizes,
                                          std::vector<std::uint64_t> const& units,
                                          nam::WindowWishes const& wishes) {
  if (auto mapped = find_mapped(grant)) {
    nam::WindowInfo info = mapped->allocate(sizes, units, wishes);
    return make_mapped(std::move(mapped), std::move(info));
  }
  auto remote = RemoteGrant::of(grant);
  nam::WindowInfo info =
      remote->ask([&](nam::Session& session) { return session.allocate(sizes, units, wishes); });
  return make_remote(std::move(remote), std::move(info));
}

std::unique_ptr<NamWindow> connect_to(nam::WindowInfo window) {
  nam::Locator const locator = nam::parse_locator(window.port);
  if (auto grant = find_mapped(locator)) return make_mapped(std::move(grant), std::move(window));
  return join_remote(locator, window);
}

std::unique_ptr<NamWindow> join_described(Json const& description, bool is_mapped) {
  nam::Locator const locator = nam::parse_locator(nam::field<std::string>(description, "grant"));
  auto const control = nam::field<std::uint64_t>(description, "control");
  if (description.contains("secret"))
    nam::tell_secret(locator.address,
                     nam::secret_from_hex(nam::field<std::string>(description, "secret")));
  nam::WindowInfo info = window_from(description);
  auto grant = is_mapped ? NamGrant::mapped(locator, control) : nullptr;
  if (grant == nullptr) grant = find_mapped(locator, control);
  if (grant != nullptr) return make_mapped(std::move(grant), std::move(info));
  return join_remote(locator, info);
}

}  // namespace mpix::windows
