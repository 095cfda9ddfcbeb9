/// One interface to windows of every flavour, for tests of MPI's calls.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace mpixrma::test {

inline int world_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}
inline int world_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

inline bool on_one_host() {
  MPI_Comm local = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
  int size = 0;
  MPI_Comm_size(local, &size);
  MPI_Comm_free(&local);
  return size == world_size();
}

/// Returns false on several hosts, and if the engine is configured without loads and stores; in the latter
/// case another component serves windows of shared memory.
inline bool can_share() {
  char const* const path = std::getenv("OMPI_MCA_osc_mpix_path");
  return on_one_host() &&
         (path == nullptr || std::string_view(path).find("direct") != std::string_view::npos);
}

inline int class_of(int code) {
  int error_class = code;
  MPI_Error_class(code, &error_class);
  return error_class;
}

/// A window of `bytes` bytes, zero at first, at every rank of MPI_COMM_WORLD; errors are returned.
class TestWindow {
 public:
  TestWindow(int flavor, std::size_t bytes, int disp_unit = 1, MPI_Info info = MPI_INFO_NULL) {
    auto const size = static_cast<MPI_Aint>(bytes);
    own_.resize(bytes / sizeof(std::max_align_t) + 1);
    void* base = own_.data();
    switch (flavor) {
      case MPI_WIN_FLAVOR_CREATE: MPI_Win_create(base, size, disp_unit, info, MPI_COMM_WORLD, &window); break;
      case MPI_WIN_FLAVOR_ALLOCATE:
        MPI_Win_allocate(size, disp_unit, info, MPI_COMM_WORLD, &base, &window);
        break;
      case MPI_WIN_FLAVOR_SHARED:
        MPI_Win_allocate_shared(size, disp_unit, info, MPI_COMM_WORLD, &base, &window);
        break;
      default: MPI_Win_create_dynamic(info, MPI_COMM_WORLD, &window); MPI_Win_attach(window, base, size);
    }
    MPI_Win_set_errhandler(window, MPI_ERRORS_RETURN);
    memory = static_cast<std::byte*>(base);
    std::memset(memory, 0, bytes);
    MPI_Aint mine = 0;
    if (flavor == MPI_WIN_FLAVOR_DYNAMIC) MPI_Get_address(base, &mine);
    bases_.resize(static_cast<std::size_t>(world_size()));
    MPI_Allgather(&mine, 1, MPI_AINT, bases_.data(), 1, MPI_AINT, MPI_COMM_WORLD);
  }
  ~TestWindow() {
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_EQ(MPI_Win_free(&window), MPI_SUCCESS);
  }
  TestWindow(TestWindow const&) = delete;
  TestWindow& operator=(TestWindow const&) = delete;

  /// Returns the displacement of the place `units` displacement units into the memory of `rank`.
  MPI_Aint at(int rank, MPI_Aint units = 0) const { return bases_[static_cast<std::size_t>(rank)] + units; }

  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(memory);
  }

  MPI_Win window = MPI_WIN_NULL;
  std::byte* memory = nullptr;

 private:
  std::vector<std::max_align_t> own_;
  std::vector<MPI_Aint> bases_;
};

class EveryFlavor : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    if (GetParam() == MPI_WIN_FLAVOR_SHARED && !can_share()) GTEST_SKIP() << "no memory to share";
  }
};

inline auto const flavors = ::testing::Values(MPI_WIN_FLAVOR_CREATE, MPI_WIN_FLAVOR_ALLOCATE,
                                              MPI_WIN_FLAVOR_DYNAMIC, MPI_WIN_FLAVOR_SHARED);

}  // namespace mpixrma::test
