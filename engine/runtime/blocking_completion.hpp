/// A completion that the issuing thread waits for.
#pragma once

#include <atomic>
#include <cstddef>

#include "engine/base/status.hpp"
#include "engine/op/operation.hpp"

namespace mpixrma::engine {

struct BlockingCompletion : Completion {
  BlockingCompletion() noexcept {
    done = [](Completion& self, Status result, std::size_t) noexcept {
      auto& completion = static_cast<BlockingCompletion&>(self);
      completion.status = result;
      // Release: the waiting thread reads the status and destroys the object.
      completion.is_done.store(true, std::memory_order_release);
    };
  }

  Status status = Status::ok;
  std::atomic<bool> is_done{false};
};

}  // namespace mpixrma::engine
