/// The common part of the ARMCI tests.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "include/armci/armci.h"

namespace mpixrma::test {

inline int me() { return armci_msg_me(); }
inline int size() { return armci_msg_nproc(); }

/// An address where no memory is mapped.
inline void* const nowhere = reinterpret_cast<void*>(0xdead0000);

/// Remote memory that all processes free at the end of the scope.
class Remote {
 public:
  explicit Remote(armci_size_t bytes) : bases_(static_cast<std::size_t>(size())) {
    EXPECT_EQ(ARMCI_Malloc(bases_.data(), bytes), 0);
    std::memset(mine(), 0, static_cast<std::size_t>(bytes));
    ARMCI_Barrier();
  }
  ~Remote() {
    ARMCI_Barrier();
    EXPECT_EQ(ARMCI_Free(mine()), 0);
  }
  Remote(Remote const&) = delete;
  Remote& operator=(Remote const&) = delete;
  char* at(int process, std::ptrdiff_t offset = 0) const {
    return static_cast<char*>(bases_[static_cast<std::size_t>(process)]) + offset;
  }
  char* mine() const { return at(me()); }

 private:
  std::vector<void*> bases_;
};

}  // namespace mpixrma::test
