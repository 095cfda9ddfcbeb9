/// Windows of every flavour for tests of calls, locked at every rank.
#pragma once

#include <memory>

#include "tests/windows/support.hpp"

namespace mpixrma::test {

class Calls : public FlavourTest {
 protected:
  void SetUp() override {
    FlavourTest::SetUp();
    if (IsSkipped()) return;
    window_ = std::make_unique<Window>(GetParam(), bytes);
    MPI_Win_lock_all(0, *window_);
  }
  void TearDown() override {
    if (window_ != nullptr) MPI_Win_unlock_all(*window_);
  }
  MPI_Win win() const { return *window_; }
  MPI_Aint at(MPI_Aint offset) const { return window_->at(next_, offset); }
  void complete() {
    MPI_Win_flush_all(win());
    MPI_Barrier(world);
    MPI_Win_sync(win());
  }
  template <typename T>
  T* mine() const {
    return window_->base<T>();
  }
  static constexpr MPI_Aint bytes = 1 << 18;
  std::unique_ptr<Window> window_;
};

}  // namespace mpixrma::test
