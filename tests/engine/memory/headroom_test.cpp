/// The computation of free memory from files in the kernel's format.
#include "engine/memory/headroom.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace mpixrma::engine {
namespace {

constexpr std::uint64_t mebibyte = 1024 * 1024;
constexpr std::uint64_t gibibyte = 1024 * mebibyte;

class Headroom : public ::testing::Test {
 protected:
  Headroom() : root_(::testing::TempDir() + "headroom-" + std::to_string(::getpid())) {
    write("/proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:    8388608 kB\n");
  }
  ~Headroom() override { std::filesystem::remove_all(root_); }

  void write(std::string const& path, std::string const& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  std::uint64_t left() const { return memory_headroom(root_); }

  static constexpr std::uint64_t of_machine = 8 * gibibyte - 512 * mebibyte;  // less a 32nd of 16 GiB
  std::string const root_;
};

TEST_F(Headroom, IsAvailableMemoryMinusMargin) { EXPECT_EQ(left(), of_machine); }

TEST_F(Headroom, IsUnlimitedIfMemoryInfoIsMissing) {
  write("/proc/meminfo", "");
  EXPECT_EQ(left(), UINT64_MAX);
}

TEST_F(Headroom, IsBoundedByEveryParentCgroup) {
  std::string const groups = "/sys/fs/cgroup";
  write("/proc/self/cgroup", "0::/jobs/mine\n");
  write(groups + "/jobs/mine/memory.max", "max\n");
  write(groups + "/jobs/mine/memory.current", "4096\n");
  EXPECT_EQ(left(), of_machine);
  write(groups + "/jobs/memory.max", std::to_string(gibibyte) + '\n');
  write(groups + "/jobs/memory.current", std::to_string(256 * mebibyte) + '\n');
  EXPECT_EQ(left(), 768 * mebibyte - 32 * mebibyte);
  write(groups + "/jobs/memory.stat", "anon 5\ninactive_file 1048576\nactive_file 1048576\nfile 9\n");
  EXPECT_EQ(left(), 770 * mebibyte - 32 * mebibyte);
  write(groups + "/jobs/mine/memory.max", "8192\n");
  EXPECT_EQ(left(), 0u);  // less than the margin
}

TEST_F(Headroom, SupportsCgroupVersion1) {
  std::string const groups = "/sys/fs/cgroup/memory";
  write("/proc/self/cgroup", "5:cpu,cpuacct:/mine\n4:hugetlb,memory:/mine\n0::/\n");
  write(groups + "/memory.limit_in_bytes", "9223372036854771712\n");
  write(groups + "/memory.usage_in_bytes", "4096\n");
  EXPECT_EQ(left(), of_machine);
  write(groups + "/mine/memory.limit_in_bytes", std::to_string(2 * gibibyte) + '\n');
  write(groups + "/mine/memory.usage_in_bytes", std::to_string(gibibyte) + '\n');
  write(groups + "/mine/memory.stat", "inactive_file 7\ntotal_inactive_file 1048576\ntotal_active_file 0\n");
  EXPECT_EQ(left(), gibibyte + mebibyte - 64 * mebibyte);
}

}  // namespace
}  // namespace mpixrma::engine
