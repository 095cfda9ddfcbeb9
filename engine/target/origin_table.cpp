#include "engine/target/origin_table.hpp"

#include <utility>

namespace mpixrma::engine {

Origin* OriginTable::find(std::uint64_t process) const noexcept {
  auto const found = origins_.find(process);
  return found != origins_.end() ? found->second.get() : nullptr;
}

Origin* OriginTable::of_session(std::uint64_t token) const noexcept {
  auto const found = sessions_.find(token);
  return found != sessions_.end() ? found->second : nullptr;
}

std::size_t OriginTable::count_of(std::uint64_t target) const noexcept {
  return static_cast<std::size_t>(std::count_if(
      origins_.begin(), origins_.end(), [=](auto const& entry) { return entry.second->target == target; }));
}

bool OriginTable::add(std::unique_ptr<Origin> origin) {
  std::uint64_t const process = origin->process;
  auto const [session, is_new] = sessions_.emplace(origin->session.request, origin.get());
  if (!is_new) return false;
  try {
    origins_.emplace(process, std::move(origin));
  } catch (...) {
    sessions_.erase(session);
    throw;
  }
  return true;
}

void OriginTable::remove(Origin& origin) {
  std::uint64_t const process = origin.process;
  gone_.add(process, origin.incarnation, origin.processed_requests);
  ended_.add(origin.session.request);
  sessions_.erase(origin.session.request);
  origins_.erase(process);
}

std::optional<std::uint64_t> OriginTable::process_of(std::uint64_t token) const noexcept {
  Origin const* const origin = of_session(token);
  return origin != nullptr ? std::optional(origin->process) : std::nullopt;
}

std::uint64_t OriginTable::session_with(std::uint64_t process) const noexcept {
  Origin const* const origin = find(process);
  return origin != nullptr ? origin->session.reply : 0;
}

std::uint64_t OriginTable::last_use(std::uint64_t process) const noexcept {
  Origin const* const origin = find(process);
  return origin != nullptr ? origin->last_use : 0;
}

std::uint64_t OriginTable::messages_of(std::uint64_t process) const noexcept {
  Origin const* const origin = find(process);
  return gone_.messages_of(process) + (origin != nullptr ? origin->processed_requests : 0);
}

}  // namespace mpixrma::engine
