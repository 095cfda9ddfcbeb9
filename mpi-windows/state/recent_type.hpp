/// The datatype that the operations of a window have used most recently.
#pragma once

#include <mpi.h>

#include <atomic>

#include "datatype/datatype.hpp"

namespace mpixrma::windows {

class RecentType {
 public:
  /// As Datatype::find_known.
  Datatype const* find(MPI_Datatype type) noexcept {
    // Acquire: pairs with the release below. States are reused, never deallocated.
    Datatype const* const recent = recent_.load(std::memory_order_acquire);
    if (recent != nullptr && recent->handle() == type) [[likely]]
      return recent;
    Datatype const* const known = Datatype::find_known(type);
    if (known != nullptr) recent_.store(known, std::memory_order_release);
    return known;
  }

 private:
  std::atomic<Datatype const*> recent_{nullptr};
};

}  // namespace mpixrma::windows
