/// The processes that know segments or exposures of this process, and must drop them before their end.
#pragma once

#include <cstdint>
#include <map>
#include <set>

namespace mpixrma::engine {

class KeyHolders {
 public:
  /// `process` learns of the segment or exposure with this number.
  void add(std::uint64_t number, std::uint64_t process) { holders_[number].processes.insert(process); }

  /// The process has dropped it.
  void remove(std::uint64_t number, std::uint64_t process) {
    auto const found = holders_.find(number);
    if (found == holders_.end()) return;
    found->second.processes.erase(process);
    if (found->second.is_unused()) holders_.erase(found);
  }

  /// The use of the keys that an ended process knew: none, or find_left() returns them.
  enum class Left { none, kept };
  /// The process has ended. If its keys are `kept`, find_left() returns them, because it may have copied
  /// them.
  void remove_process(std::uint64_t process, Left left) noexcept {
    for (auto& [number, holders] : holders_) {
      if (holders.processes.erase(process) != 0 && left == Left::kept)
        holders.has_left = any_has_left_ = true;
    }
    std::erase_if(holders_, [](auto const& entry) { return entry.second.is_unused(); });
  }

  /// Calls `visit(process)` for each process that knows it.
  template <typename Function>
  void for_each(std::uint64_t number, Function visit) const {
    auto const found = holders_.find(number);
    if (found == holders_.end()) return;
    for (std::uint64_t const process : found->second.processes) visit(process);
  }
  /// Whether no process knows it.
  bool is_unknown(std::uint64_t number) const {
    auto const found = holders_.find(number);
    return found == holders_.end() || found->second.processes.empty();
  }

  /// Adds to `numbers` what was known to processes that have ended since the last forget_left().
  void find_left(std::set<std::uint64_t>* numbers) const {
    if (!any_has_left_) return;
    for (auto const& [number, holders] : holders_) {
      if (holders.has_left) numbers->insert(number);
    }
  }
  void forget_left() noexcept {
    if (!any_has_left_) return;
    any_has_left_ = false;
    for (auto& [number, holders] : holders_) holders.has_left = false;
    std::erase_if(holders_, [](auto const& entry) { return entry.second.is_unused(); });
  }

 private:
  struct Holders {
    bool is_unused() const noexcept { return processes.empty() && !has_left; }

    std::set<std::uint64_t> processes;
    bool has_left = false;  ///< a process that knew it has ended
  };

  std::map<std::uint64_t, Holders> holders_;  ///< by number of the segment or exposure
  bool any_has_left_ = false;
};

}  // namespace mpixrma::engine
