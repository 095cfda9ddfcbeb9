#include "engine/base/kept_from_children.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <utility>

#include "engine/base/fork.hpp"

namespace mpixrma::engine {

namespace {

// The descriptors plus 1; 0: unused. A child reads them without locks.
constinit std::array<std::atomic<int>, 4096> kept_descriptors{};

void replace_in_child() noexcept {
  int nothing = -1;
  for (std::atomic<int>& each : kept_descriptors) {
    int const descriptor = each.exchange(0, std::memory_order_relaxed) - 1;
    if (descriptor < 0) continue;
    if (nothing < 0) nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    // Not closed: the child may open a file, which would get the number of an object that still exists.
    nothing >= 0 ? (void)::dup3(nothing, descriptor, O_CLOEXEC) : (void)::close(descriptor);
  }
  if (nothing >= 0) (void)::close(nothing);
}

ChildHandler const child_handler{&replace_in_child};

}  // namespace

KeptFromChildren::KeptFromChildren(int descriptor) noexcept {
  for (std::size_t place = 0; place < kept_descriptors.size(); ++place) {
    int unused = 0;
    if (!kept_descriptors[place].compare_exchange_strong(unused, descriptor + 1, std::memory_order_relaxed))
      continue;
    place_ = place;
    return;
  }
}

KeptFromChildren::KeptFromChildren(KeptFromChildren&& other) noexcept
    : place_(std::exchange(other.place_, none)) {}

KeptFromChildren& KeptFromChildren::operator=(KeptFromChildren&& other) noexcept {
  std::swap(place_, other.place_);
  return *this;
}

KeptFromChildren::~KeptFromChildren() {
  if (place_ != none) kept_descriptors[place_].store(0, std::memory_order_relaxed);
}

}  // namespace mpixrma::engine
