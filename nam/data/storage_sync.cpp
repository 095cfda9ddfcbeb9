#include "nam/data/storage_sync.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <exception>
#include <iterator>
#include <system_error>
#include <utility>

#include "engine/base/service_thread.hpp"

namespace mpixrma::nam {

StorageSync::StorageSync(EventLoop& loop, std::function<void()> sync)
    : loop_(loop), sync_(std::move(sync)), finished_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!finished_) throw Error(ErrorCode::unavailable, std::string("eventfd: ") + std::strerror(errno));
  loop_.watch(finished_.get(), EPOLLIN, [this](std::uint32_t) { end(); });
  try {
    thread_ = engine::start_service_thread([this] { work(); });
  } catch (std::system_error const& error) {
    loop_.forget(finished_.get());
    throw Error(ErrorCode::unavailable,
                std::string("no thread can be started to write the storage file: ") + error.what());
  }
}

StorageSync::~StorageSync() {
  {
    std::lock_guard const held(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
  loop_.forget(finished_.get());
}

void StorageSync::request(Done done) {
  waiting_.push_back(std::move(done));
  if (running_.empty()) begin();
}

void StorageSync::begin() {
  running_ = std::exchange(waiting_, {});
  {
    std::lock_guard const held(mutex_);
    due_ = true;
  }
  changed_.notify_one();
}

void StorageSync::work() {
  std::unique_lock held(mutex_);
  for (;;) {
    changed_.wait(held, [this] { return due_ || ending_; });
    if (!std::exchange(due_, false)) return;
    held.unlock();
    std::optional<Error> failure;
    try {
      sync_();
    } catch (Error const& error) {
      failure = error;
    } catch (std::exception const& error) {
      failure = Error(ErrorCode::unavailable, error.what());
    }
    held.lock();
    failure_ = std::move(failure);
    std::uint64_t const one = 1;
    (void)!::write(finished_.get(), &one, sizeof one);
  }
}

void StorageSync::end() {
  std::uint64_t count = 0;
  if (::read(finished_.get(), &count, sizeof count) != sizeof count) return;
  std::optional<Error> failure;
  {
    std::lock_guard const held(mutex_);
    failure = std::exchange(failure_, std::nullopt);
  }
  std::vector<Done> done = std::exchange(running_, {});
  if (failure) {
    ++failures_;
    std::move(waiting_.begin(), waiting_.end(), std::back_inserter(done));
    waiting_.clear();
  }
  if (!waiting_.empty()) begin();
  for (Done const& each : done) each(failure ? &*failure : nullptr);
}

}  // namespace mpixrma::nam
