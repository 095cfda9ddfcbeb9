#include "engine/proto/registrations.hpp"

#include <pthread.h>

#include <algorithm>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

#include "engine/base/service_thread.hpp"
#include "engine/memory/memory_map.hpp"

namespace mpixrma::engine {

Status Registrations::start(std::function<void()> announce) {
  announce_ = std::move(announce);
  try {
    thread_ = start_service_thread([this] { run(); });
  } catch (std::system_error const& error) {
    log_.write(LogLevel::error, "the thread for registrations could not be started: %s", error.what());
    return Status::out_of_memory;
  }
  return Status::ok;
}

void Registrations::stop() noexcept {
  if (thread_.joinable()) {
    {
      std::lock_guard const held(lock_);
      stopping_ = true;
    }
    wake_.notify_one();
    thread_.join();
  }
  for (auto const& [generation, registration] : registered_) {
    if (registration.memory != nullptr) (void)ucp_mem_unmap(context_.get(), registration.memory);
  }
  registered_.clear();
}

std::vector<std::byte> Registrations::key_of(OwnSegment const& segment) {
  std::lock_guard const held(lock_);
  auto const [entry, is_new] = registered_.try_emplace(segment.generation, Registration{segment});
  if (is_new) wake_.notify_one();
  return entry->second.state == RegistrationState::registered ? entry->second.key : std::vector<std::byte>{};
}

bool Registrations::remove(OwnSegment const& segment) noexcept {
  std::lock_guard const held(lock_);
  auto const found = registered_.find(segment.generation);
  if (found == registered_.end()) return true;
  if (found->second.state == RegistrationState::wanted) {
    registered_.erase(found);
    return true;
  }
  if (found->second.state == RegistrationState::registered) wake_.notify_one();
  found->second.state = RegistrationState::unwanted;
  return false;
}

void Registrations::run() {
  pthread_setname_np(pthread_self(), "mpix-keys");
  std::unique_lock held(lock_);
  for (;;) {
    auto task = registered_.end();
    wake_.wait(held, [&] { return stopping_ || (task = next_task()) != registered_.end(); });
    if (stopping_) return;
    task->second.state == RegistrationState::wanted ? make(task, held) : end(task, held);
  }
}

/// Deregistrations precede registrations, because a call may be waiting for a deregistration.
Registrations::Registered::iterator Registrations::next_task() noexcept {
  auto const first = [this](RegistrationState state) {
    return std::find_if(registered_.begin(), registered_.end(),
                        [=](auto const& entry) { return entry.second.state == state; });
  };
  auto const unwanted = first(RegistrationState::unwanted);
  return unwanted != registered_.end() ? unwanted : first(RegistrationState::wanted);
}

void Registrations::make(Registered::iterator task, std::unique_lock<std::mutex>& held) {
  Registration& entry = task->second;
  entry.state = RegistrationState::in_progress;
  held.unlock();
  Registration made = make(entry.segment);
  held.lock();
  if (made.memory == nullptr) {
    registered_.erase(task);  // the next request tries again
    return;
  }
  entry.memory = made.memory;
  entry.key = std::move(made.key);
  if (entry.state == RegistrationState::unwanted) return;
  entry.state = RegistrationState::registered;
  held.unlock();
  announce_();
  held.lock();
}

void Registrations::end(Registered::iterator task, std::unique_lock<std::mutex>& held) noexcept {
  ucp_mem_h const memory = task->second.memory;
  held.unlock();
  (void)ucp_mem_unmap(context_.get(), memory);
  held.lock();
  registered_.erase(task);
}

/// Returns a registration without `memory` if the network refuses it. Memory that is not writable is not
/// registered, because UCX in this process may write to it for a peer, and the fault would be fatal.
Registrations::Registration Registrations::make(OwnSegment const& segment) const {
  Registration made{segment};
  auto* const base = reinterpret_cast<void*>(segment.base);
  try {
    if (segment.user_memory() && !rights_of(base, segment.length).writable) return made;
    ucp_mem_map_params_t params{};
    params.field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH;
    params.address = base;
    params.length = segment.length;
    if (ucp_mem_map(context_.get(), &params, &made.memory) != UCS_OK) return Registration{segment};
    made.key = pack(made.memory);
  } catch (std::bad_alloc const&) {
    log_.write(LogLevel::error, "out of memory: no key for %zu registered bytes", segment.length);
  }
  return made;
}

/// Returns the key of registered memory, empty if UCX has none.
std::vector<std::byte> Registrations::pack(ucp_mem_h memory) const {
  void* packed = nullptr;
  std::size_t bytes = 0;
  if (ucp_rkey_pack(context_.get(), memory, &packed, &bytes) != UCS_OK) return {};
  std::unique_ptr<void, void (*)(void*)> const owned(packed, &ucp_rkey_buffer_release);
  auto const* const begin = static_cast<std::byte const*>(packed);
  return {begin, begin + bytes};
}

}  // namespace mpixrma::engine
