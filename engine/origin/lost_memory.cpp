#include "engine/origin/lost_memory.hpp"

#include <pthread.h>

#include <exception>
#include <new>
#include <utility>

#include "engine/base/service_thread.hpp"

namespace mpixrma::engine {

namespace {

void release_memory(RemoteSegments::MappedRegions& regions) noexcept {
  for (auto& region : regions) {
    region.watch.end();
    region.mapping.release_memory();
  }
}

}  // namespace

LostMemory::~LostMemory() {
  if (thread_.joinable()) thread_.join();
}

void LostMemory::release(Regions regions) noexcept {
  try {
    std::lock_guard const held(lock_);
    waiting_.push_back(regions);
    if (std::exchange(is_running_, true)) return;
  } catch (std::bad_alloc const&) {
    return release_memory(*regions);
  }
  if (thread_.joinable()) thread_.join();  // the thread has nothing left to do
  try {
    thread_ = start_service_thread([this] {
      pthread_setname_np(pthread_self(), "mpix-unmap");
      run();
    });
  } catch (std::exception const&) {  // no thread, or no memory: the caller does the work
    run();
  }
}

void LostMemory::run() noexcept {
  std::unique_lock held(lock_);
  while (!waiting_.empty()) {
    Regions regions = std::move(waiting_.back());
    waiting_.pop_back();
    held.unlock();
    release_memory(*regions);
    regions.reset();  // unmaps the regions, if their peer is removed meanwhile
    held.lock();
  }
  is_running_ = false;
}

}  // namespace mpixrma::engine
