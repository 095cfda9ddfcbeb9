#include "engine/net/session_secrets.hpp"

#include <map>
#include <utility>

namespace mpixrma::engine {

namespace {

std::mutex engines_lock;
std::map<std::uint64_t, std::weak_ptr<SessionSecrets>> engines;

}  // namespace

std::shared_ptr<SessionSecrets> SessionSecrets::make(std::uint64_t process) {
  auto made = std::make_shared<SessionSecrets>();
  std::lock_guard const held(engines_lock);
  std::erase_if(engines, [](auto const& entry) { return entry.second.expired(); });
  engines[process] = made;
  return made;
}

std::shared_ptr<SessionSecrets> SessionSecrets::of(std::uint64_t process) {
  std::lock_guard const held(engines_lock);
  auto const found = engines.find(process);
  return found != engines.end() ? found->second.lock() : nullptr;
}

void SessionSecrets::set_end(std::function<void(std::uint64_t)> end) {
  std::lock_guard const held(end_lock_);
  end_ = std::move(end);
}

bool SessionSecrets::add(std::uint64_t session, Secret const& secret) {
  std::lock_guard const held(lock_);
  return secrets_.emplace(session, secret).second;
}

bool SessionSecrets::remove(std::uint64_t session) {
  {
    std::lock_guard const held(lock_);
    if (secrets_.erase(session) + retired_.erase(session) == 0) return false;
  }
  std::lock_guard const held(end_lock_);
  if (end_) end_(session);
  return true;
}

void SessionSecrets::retire(std::uint64_t session, SessionEnd why) {
  std::lock_guard const held(lock_);
  if (secrets_.erase(session) != 0) retired_.emplace(session, why);
}

std::optional<SessionEnd> SessionSecrets::end_of(std::uint64_t session) const {
  std::lock_guard const held(lock_);
  auto const found = retired_.find(session);
  return found != retired_.end() ? std::optional(found->second) : std::nullopt;
}

std::optional<Secret> SessionSecrets::find(std::uint64_t session) const {
  std::lock_guard const held(lock_);
  auto const found = secrets_.find(session);
  return found != secrets_.end() ? std::optional(found->second) : std::nullopt;
}

}  // namespace mpixrma::engine
