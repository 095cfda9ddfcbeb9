#include "engine/origin/tracked_operation.hpp"

namespace mpixrma::engine {

namespace {
constexpr std::uint64_t index_mask = 0xffffffff;
constexpr unsigned round_shift = 32;
}  // namespace

void TrackedOperationList::push_back(TrackedOperation& entry) noexcept {
  entry.list = this;
  entry.previous = back_;
  entry.next = nullptr;
  (back_ != nullptr ? back_->next : front_) = &entry;
  back_ = &entry;
}

void TrackedOperationList::remove(TrackedOperation& entry) noexcept {
  (entry.previous != nullptr ? entry.previous->next : front_) = entry.next;
  (entry.next != nullptr ? entry.next->previous : back_) = entry.previous;
  entry.previous = entry.next = nullptr;
}

TrackedOperation& TrackedOperationPool::take() {
  std::uint32_t index = 0;
  if (free_.empty()) {
    index = static_cast<std::uint32_t>(entries_.size());
    entries_.emplace_back();
    if (free_.capacity() < entries_.size()) free_.reserve(2 * entries_.size());  // release() must not throw
    entries_.back().operation_id = index;
  } else {
    index = free_.back();
    free_.pop_back();
  }
  TrackedOperation& entry = entries_[index];
  // The upper half counts the uses and is never 0, so that no operation id is 0.
  std::uint64_t round = (entry.operation_id >> round_shift) + 1;
  if (round > index_mask) round = 1;
  entry.operation_id = round << round_shift | index;
  entry.live = true;
  return entry;
}

void TrackedOperationPool::release(TrackedOperation& entry) noexcept {
  std::uint64_t const operation_id = entry.operation_id;
  entry = TrackedOperation{};
  entry.operation_id = operation_id;
  free_.push_back(static_cast<std::uint32_t>(operation_id & index_mask));
}

TrackedOperation* TrackedOperationPool::find(std::uint64_t operation_id) noexcept {
  std::uint64_t const index = operation_id & index_mask;
  if (index >= entries_.size()) return nullptr;
  TrackedOperation& entry = entries_[index];
  return entry.live && entry.operation_id == operation_id ? &entry : nullptr;
}

}  // namespace mpixrma::engine
