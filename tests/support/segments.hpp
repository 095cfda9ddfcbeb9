/// Segments of this process, examined from another process.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "engine/memory/memory_map.hpp"
#include "engine/memory/segment_table.hpp"

namespace mpixrma::engine {

inline constexpr std::uint64_t owner = 0x77;
inline constexpr std::size_t region_bytes = 1 << 20;

/// Runs `check`, which returns nullptr or an error text, in another process.
template <typename Check>
void in_another_process(Check check) {
  pid_t const child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    char const* const wrong = check();
    if (wrong != nullptr) std::fprintf(stderr, "in the other process: %s: %s\n", wrong, std::strerror(errno));
    ::_exit(wrong == nullptr ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

inline int open_file_of(pid_t pid, int fd, int flags) {
  return ::open(("/proc/" + std::to_string(pid) + "/fd/" + std::to_string(fd)).c_str(), flags);
}

class Segments : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(table.open(owner, region_bytes), Status::ok); }

  Status allocate(std::size_t bytes, AllocationHints const& hints, void** base) {
    SegmentTable::Reservation reservation;
    if (Status const status = table.reserve(bytes, hints, &reservation); failed(status)) return status;
    Status const status = table.commit(reservation);
    if (!failed(status)) return table.publish(reservation, base);
    SegmentTable::Garbage garbage;
    table.cancel(reservation, &garbage);
    give_back(garbage);
    return status;
  }
  Status free(void const* base) {
    SegmentTable::Garbage garbage;
    Status const status = table.free(base, &garbage);
    give_back(garbage);
    return status;
  }
  bool drop_idle() {
    SegmentTable::Garbage garbage;
    bool const any = table.drop_idle(&garbage);
    give_back(garbage);
    return any;
  }
  void give_back(SegmentTable::Garbage& garbage) {
    garbage.release();
    table.recycle(garbage);
  }
  void* allocate(std::size_t bytes, AllocationHints const& hints = {}) {
    void* base = nullptr;
    EXPECT_EQ(allocate(bytes, hints, &base), Status::ok);
    return base;
  }

  Status attach(void* base, std::size_t bytes) {
    return table.attach(base, bytes, Registrar::program, &replaced);
  }
  /// Attaches readable memory only, as the engine does.
  Status attach_if_mapped(void* base, std::size_t bytes) {
    return rights_of(base, bytes).readable ? attach(base, bytes) : Status::bad_address;
  }
  Status detach(void* base, std::size_t bytes = 0) {
    Coverage::Range ended{};
    return table.detach(base, bytes, Registrar::program, &replaced, &ended);
  }

  SegmentTable table;
  std::vector<OwnSegment> replaced;  ///< segments that no longer exist
};

}  // namespace mpixrma::engine
