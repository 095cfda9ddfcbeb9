/// A window that was made from a plan.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "tests/windows/random/plan.hpp"

namespace mpixrma::random_windows {

class Window {
 public:
  /// Collective. `on`: the window whose memory this one uses, or null: new memory, filled with `content`.
  Window(WindowPlan const& plan, MemoryPlan const& memory, MPI_Comm comm, Window const* on,
         std::vector<std::byte> const& content);
  ~Window();
  Window(Window const&) = delete;
  Window& operator=(Window const&) = delete;

  MPI_Win handle() const { return handle_; }
  bool made() const { return handle_ != MPI_WIN_NULL; }
  /// Returns the rank in the window for a rank of the test.
  int rank_of(int rank) const {
    return rank == MPI_PROC_NULL ? rank : plan_.reversed ? size_ - 1 - rank : rank;
  }
  /// Returns the displacement of an offset in a rank's memory.
  MPI_Aint displacement(int rank, std::size_t offset) const;
  /// Returns this rank's memory; null if it has none.
  std::byte* memory() const { return memory_; }
  /// Returns the content of this rank's memory. If the memory has no address, the caller must hold its lock.
  std::vector<std::byte> content() const;
  /// Returns the memory of any rank of a window of shared memory, or of a window at a server that is mapped.
  std::byte* memory_of(int rank) const;
  /// Returns the group of these ranks of the test.
  MPI_Group group(std::vector<int> const& ranks) const;
  bool locks() const { return !plan_.no_locks; }

 private:
  void make(Window const* on);
  void attach();
  void fill(std::vector<std::byte> const& content);
  MPI_Info info() const;

  WindowPlan const& plan_;
  MemoryPlan const& memory_plan_;
  MPI_Comm comm_ = MPI_COMM_NULL;  ///< of the window
  int size_ = 0;
  bool present_ = false;
  MPI_Win handle_ = MPI_WIN_NULL;
  std::byte* memory_ = nullptr;
  std::unique_ptr<std::byte, void (*)(std::byte*)> own_;
  std::vector<MPI_Aint> addresses_;
  std::vector<void*> attached_;
};

}  // namespace mpixrma::random_windows
