/// A library that is loaded before ARMCI and breaks the promise of one clause. It defines functions of ARMCI,
/// and calls the library by the names that begin with PARMCI_, or by next_definition() where there is none.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <vector>

#include "include/armci/armci.h"
#include "include/armci/armcix.h"
#include "spec-conformance/mutations/clause.hpp"

namespace mpixrma::broken {

/// Operations that are withheld from the library.
class WithheldTransfers {
 public:
  /// When a withheld operation is issued.
  enum class Until {
    next,       ///< before the next operation on its process
    next_done,  ///< after the next operation on its process
    together    ///< when all processes are in ARMCI_Barrier
  };
  void keep(Until until, int process, std::function<int()> issue);
  /// Removes and returns the operations on a process, in their order.
  std::vector<std::function<int()>> take(Until until, int process);
  void issue(Until until, int process);
  void issue_all(Until until);

 private:
  struct Kept {
    Until until;
    int process;
    std::function<int()> issue;
  };
  std::vector<std::function<int()>> take_if(std::function<bool(Kept const&)> const& condition);
  std::vector<Kept> kept_;
};
WithheldTransfers& withheld();

/// The kind of this process's last operation.
enum class Previous { put, swap, other };
extern Previous previous;

/// Issues an operation after those kept until `next`, and before those kept until `next_done`. Returns its
/// code.
template <typename F>
int in_turn(int process, F issue) {
  withheld().issue(WithheldTransfers::Until::next, process);
  auto const behind = withheld().take(WithheldTransfers::Until::next_done, process);
  int const code = issue();
  for (auto const& operation : behind) (void)operation();
  return code;
}

/// Withholds a contiguous put with a copy of its source, as if the put were complete.
int keep_put(WithheldTransfers::Until until, void const* source, void* destination, int size, int process);

/// The allocations of this process, with the addresses of all processes.
class Allocations {
 public:
  struct Place {
    std::size_t allocation = 0;
    std::ptrdiff_t offset = -1;  ///< negative: in no allocation
  };
  /// `ids`: the process of each base.
  void add(std::vector<int> ids, void* const* bases, armci_size_t size);
  void remove(void const* base);
  Place find(int process, void const* address) const;
  char* base(std::size_t allocation, int process) const;

 private:
  struct Allocation {
    std::vector<int> ids;
    std::vector<char*> bases;
    armci_size_t size;  ///< of the caller's part
  };
  std::vector<Allocation> all_;
};
Allocations& allocations();

}  // namespace mpixrma::broken
