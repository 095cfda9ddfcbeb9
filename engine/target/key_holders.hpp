/// The processes that hold keys of segments or exposures of this process. They must drop a key before its
/// segment or exposure ends.
#pragma once

#include <cstdint>
#include <map>
#include <set>

namespace mpixrma::engine {

class KeyHolders {
 public:
  /// `process` receives a key of the segment or exposure with this number.
  void add(std::uint64_t number, std::uint64_t process) { holders_[number].processes.insert(process); }

  /// The process has dropped its key.
  void remove(std::uint64_t number, std::uint64_t process) {
    auto const found = holders_.find(number);
    if (found == holders_.end()) return;
    found->second.processes.erase(process);
    if (found->second.is_unused()) holders_.erase(found);
  }

  /// Whether a process that has ended or disconnected may have copied its keys, so that find_departed() must
  /// return them.
  enum class DepartedKeys { forgotten, retained };
  void remove_process(std::uint64_t process, DepartedKeys keys) noexcept {
    for (auto& [number, holders] : holders_) {
      if (holders.processes.erase(process) != 0 && keys == DepartedKeys::retained)
        holders.has_departed = any_departed_ = true;
    }
    std::erase_if(holders_, [](auto const& entry) { return entry.second.is_unused(); });
  }

  /// Calls `visit(process)` for each process that has a key of the segment or exposure with this number.
  template <typename Function>
  void for_each(std::uint64_t number, Function visit) const {
    auto const found = holders_.find(number);
    if (found == holders_.end()) return;
    for (std::uint64_t const process : found->second.processes) visit(process);
  }
  /// Whether no process has a key of the segment or exposure with this number.
  bool is_unknown(std::uint64_t number) const {
    auto const found = holders_.find(number);
    return found == holders_.end() || found->second.processes.empty();
  }

  /// Adds to `numbers` each segment or exposure whose key may have been copied by a process that has ended or
  /// disconnected since the last forget_departed().
  void find_departed(std::set<std::uint64_t>* numbers) const {
    if (!any_departed_) return;
    for (auto const& [number, holders] : holders_) {
      if (holders.has_departed) numbers->insert(number);
    }
  }
  void forget_departed() noexcept {
    if (!any_departed_) return;
    any_departed_ = false;
    for (auto& [number, holders] : holders_) holders.has_departed = false;
    std::erase_if(holders_, [](auto const& entry) { return entry.second.is_unused(); });
  }

 private:
  struct Holders {
    bool is_unused() const noexcept { return processes.empty() && !has_departed; }

    std::set<std::uint64_t> processes;
    bool has_departed = false;  ///< a process that may have copied the key has ended or disconnected
  };

  std::map<std::uint64_t, Holders> holders_;  ///< by number of the segment or exposure
  bool any_departed_ = false;
};

}  // namespace mpixrma::engine
