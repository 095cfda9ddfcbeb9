/// Windows for tests, by MPI's interface alone.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdlib>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace mpixrma::test {

inline MPI_Comm const world = MPI_COMM_WORLD;

enum class Flavour { create, allocate, shared, dynamic };
inline std::string name_of(Flavour flavour) {
  constexpr char const* names[] = {"create", "allocate", "shared", "dynamic"};
  return names[static_cast<int>(flavour)];
}

inline bool on_one_host(MPI_Comm comm = MPI_COMM_WORLD) {
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  int here = 0;
  int all = 0;
  MPI_Comm_size(host, &here);
  MPI_Comm_size(comm, &all);
  MPI_Comm_free(&host);
  int together = here == all ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &together, 1, MPI_INT, MPI_MIN, comm);
  return together == 1;
}

/// Returns false on several hosts, and for MPIX_TEST_SHARED=no: a forced protocol without shared memory.
inline bool can_share() {
  char const* const wanted = std::getenv("MPIX_TEST_SHARED");
  return on_one_host() && (wanted == nullptr || std::string(wanted) != "no");
}

/// Info keys, freed at the end of the scope.
class Info {
 public:
  Info() { MPI_Info_create(&info_); }
  Info(std::initializer_list<std::pair<char const*, char const*>> keys) : Info() {
    for (auto const& [key, value] : keys) MPI_Info_set(info_, key, value);
  }
  ~Info() { MPI_Info_free(&info_); }
  Info(Info const&) = delete;
  Info& operator=(Info const&) = delete;
  MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// A window of any flavour on zeroed memory. Its errors are returned.
class Window {
 public:
  /// `memory`: for flavours create and dynamic, existing memory in place of new, zeroed memory; or null.
  Window(Flavour flavour, MPI_Aint bytes, int unit = 1, MPI_Info info = MPI_INFO_NULL,
         MPI_Comm comm = MPI_COMM_WORLD, void* memory = nullptr)
      : comm_(comm), dynamic_(flavour == Flavour::dynamic) {
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    bool const brings = flavour == Flavour::create || dynamic_;
    if (memory != nullptr) {
      base_ = static_cast<char*>(memory);
    } else if (brings) {
      own_.resize(static_cast<std::size_t>(bytes) / 8 + 1);
      base_ = reinterpret_cast<char*>(own_.data());
    }
    int code = MPI_SUCCESS;
    switch (flavour) {
      case Flavour::create: code = MPI_Win_create(base_, bytes, unit, info, comm_, &handle_); break;
      case Flavour::allocate: code = MPI_Win_allocate(bytes, unit, info, comm_, &base_, &handle_); break;
      case Flavour::shared: code = MPI_Win_allocate_shared(bytes, unit, info, comm_, &base_, &handle_); break;
      case Flavour::dynamic: code = MPI_Win_create_dynamic(info, comm_, &handle_); break;
    }
    EXPECT_EQ(code, MPI_SUCCESS);
    MPI_Win_set_errhandler(handle_, MPI_ERRORS_RETURN);
    if (dynamic_) EXPECT_EQ(MPI_Win_attach(handle_, base_, bytes), MPI_SUCCESS);
    if (bytes != 0 && memory == nullptr) std::memset(base_, 0, static_cast<std::size_t>(bytes));
    units_.resize(static_cast<std::size_t>(size_), 1);
    bases_.resize(static_cast<std::size_t>(size_));
    MPI_Aint mine = 0;
    MPI_Get_address(base_, &mine);
    MPI_Allgather(&mine, 1, MPI_AINT, bases_.data(), 1, MPI_AINT, comm_);
    MPI_Allgather(&unit, 1, MPI_INT, units_.data(), 1, MPI_INT, comm_);
  }
  ~Window() {
    MPI_Barrier(comm_);
    if (dynamic_) MPI_Win_detach(handle_, base_);
    EXPECT_EQ(MPI_Win_free(&handle_), MPI_SUCCESS);
    EXPECT_EQ(handle_, MPI_WIN_NULL);
  }
  Window(Window const&) = delete;
  Window& operator=(Window const&) = delete;

  operator MPI_Win() const { return handle_; }
  template <typename T = char>
  T* base() const {
    return reinterpret_cast<T*>(base_);
  }
  /// Returns the displacement of `offset` bytes into the memory of a rank.
  MPI_Aint at(int rank, MPI_Aint offset) const {
    auto const index = static_cast<std::size_t>(rank);
    return dynamic_ ? MPI_Aint_add(bases_[index], offset) : offset / units_[index];
  }

 private:
  MPI_Comm comm_;
  bool dynamic_;
  int rank_ = 0;
  int size_ = 0;
  MPI_Win handle_ = MPI_WIN_NULL;
  char* base_ = nullptr;
  std::vector<long> own_;
  std::vector<MPI_Aint> bases_;
  std::vector<int> units_;
};

/// Returns the class of an error code.
inline int class_of(int code) {
  int result = MPI_SUCCESS;
  MPI_Error_class(code, &result);
  return result;
}

/// Returns the text of an error code.
inline std::string text_of(int code) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

/// Returns the value of a key of the window's info; empty if there is none.
inline std::string value_of(MPI_Win window, char const* key) {
  MPI_Info info = MPI_INFO_NULL;
  EXPECT_EQ(MPI_Win_get_info(window, &info), MPI_SUCCESS);
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int found = 0;
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
  MPI_Info_free(&info);
  return found != 0 ? value : "";
}

/// Calls work(thread) for thread 0, and at MPI_THREAD_MULTIPLE in two more threads at the same time.
template <typename Work>
void on_threads(Work work) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  std::vector<std::thread> threads;
  for (int thread = 1; thread < (level == MPI_THREAD_MULTIPLE ? 3 : 1); ++thread)
    threads.emplace_back(work, thread);
  work(0);
  for (std::thread& thread : threads) thread.join();
}

class WindowTest : public ::testing::Test {
 protected:
  WindowTest() {
    MPI_Comm_rank(world, &rank_);
    MPI_Comm_size(world, &size_);
    next_ = (rank_ + 1) % size_;
    previous_ = (rank_ + size_ - 1) % size_;
  }
  int rank_ = 0;
  int size_ = 0;
  int next_ = 0;
  int previous_ = 0;
};

/// A fixture for tests on each flavour.
class FlavourTest : public WindowTest, public ::testing::WithParamInterface<Flavour> {
 protected:
  void SetUp() override {
    if (GetParam() == Flavour::shared && !can_share()) GTEST_SKIP() << "no shared memory";
  }
};
#define MPIX_ON_EACH_FLAVOUR(suite)                                                             \
  INSTANTIATE_TEST_SUITE_P(                                                                     \
      Flavours, suite,                                                                          \
      ::testing::Values(Flavour::create, Flavour::allocate, Flavour::shared, Flavour::dynamic), \
      [](auto const& info) { return name_of(info.param); })

/// Computes for this time, with no MPI call but MPI_Wtime.
inline void compute_for(double seconds) {
  for (double const start = MPI_Wtime(); MPI_Wtime() - start < seconds;) {
  }
}

}  // namespace mpixrma::test
