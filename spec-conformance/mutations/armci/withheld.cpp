#include <cstring>
#include <utility>

#include "spec-conformance/mutations/armci/broken.hpp"

namespace mpixrma::broken {

Previous previous = Previous::other;

WithheldTransfers& withheld() {
  static WithheldTransfers all;
  return all;
}

void WithheldTransfers::keep(Until until, int process, std::function<int()> issue) {
  kept_.push_back({until, process, std::move(issue)});
}

std::vector<std::function<int()>> WithheldTransfers::take_if(
    std::function<bool(Kept const&)> const& condition) {
  std::vector<std::function<int()>> taken;
  for (Kept& one : std::exchange(kept_, {})) {
    if (condition(one)) {
      taken.push_back(std::move(one.issue));
    } else {
      kept_.push_back(std::move(one));
    }
  }
  return taken;
}

std::vector<std::function<int()>> WithheldTransfers::take(Until until, int process) {
  if (kept_.empty()) return {};
  return take_if([&](Kept const& one) { return one.until == until && one.process == process; });
}

void WithheldTransfers::issue(Until until, int process) {
  for (auto const& operation : take(until, process)) (void)operation();
}

void WithheldTransfers::issue_all(Until until) {
  for (auto const& operation : take_if([&](Kept const& one) { return one.until == until; }))
    (void)operation();
}

int keep_put(WithheldTransfers::Until until, void const* source, void* destination, int size, int process) {
  auto const* const bytes = static_cast<char const*>(source);
  withheld().keep(until, process,
                  [copy = std::vector<char>(bytes, bytes + size), destination, process]() mutable {
                    return PARMCI_Put(copy.data(), destination, static_cast<int>(copy.size()), process);
                  });
  return 0;
}

Allocations& allocations() {
  static Allocations all;
  return all;
}

void Allocations::add(std::vector<int> ids, void* const* bases, armci_size_t size) {
  Allocation added{std::move(ids), {}, size};
  for (std::size_t i = 0; i < added.ids.size(); ++i) added.bases.push_back(static_cast<char*>(bases[i]));
  all_.push_back(std::move(added));
}

void Allocations::remove(void const* base) {
  int const me = armci_msg_me();
  for (std::size_t i = 0; i < all_.size(); ++i) {
    if (this->base(i, me) != base) continue;
    all_.erase(all_.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
}

char* Allocations::base(std::size_t allocation, int process) const {
  Allocation const& one = all_[allocation];
  for (std::size_t i = 0; i < one.ids.size(); ++i)
    if (one.ids[i] == process) return one.bases[i];
  return nullptr;
}

Allocations::Place Allocations::find(int process, void const* address) const {
  for (std::size_t i = 0; i < all_.size(); ++i) {
    char* const first = base(i, process);
    if (first == nullptr) continue;
    std::ptrdiff_t const offset = static_cast<char const*>(address) - first;
    if (offset >= 0 && offset < static_cast<std::ptrdiff_t>(all_[i].size)) return {i, offset};
  }
  return {};
}

}  // namespace mpixrma::broken
