/// Grants whose memory consists of reserved huge pages.
#include <fcntl.h>
#include <sys/file.h>

#include <cstring>
#include <fstream>

#include "tests/nam/attacks/users.hpp"
#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {
namespace {

/// Reserves huge pages for a test; has_all() is false if the system does not permit that. All processes of
/// the system share the numbers of pages, so only one test at a time changes and counts them, and ctest runs
/// this program alone.
class HugePages {
 public:
  explicit HugePages(int count) : turn_(::open(file, O_RDONLY | O_CLOEXEC)) {
    if (!turn_ || ::flock(turn_.get(), LOCK_EX) != 0) return;
    before_ = number();
    write(before_ + count);
    has_all_ = number() >= before_ + count;
  }
  ~HugePages() {
    if (before_ >= 0) write(before_);
  }
  HugePages(HugePages const&) = delete;
  HugePages& operator=(HugePages const&) = delete;

  bool has_all() const noexcept { return has_all_; }
  static int free_pages() { return read("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages"); }

 private:
  static constexpr char const* file = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";
  static int read(char const* path) {
    int value = 0;
    std::ifstream(path) >> value;
    return value;
  }
  static int number() { return read(file); }
  static void write(int count) { std::ofstream(file) << count; }

  FileDescriptor turn_;
  int before_ = -1;
  bool has_all_ = false;
};

TEST(HugeGrants, AreRoundedToPagesAndCountUntilPagesAreFreed) {
  HugePages const pages(8);
  if (!pages.has_all()) GTEST_SKIP() << "needs 8 huge pages, or the right to set them aside";
  int const free_before = HugePages::free_pages();
  TestServer server;
  server.start({"--size", "16M", "--listen", "none", "--storage", "huge"});
  Locator const small = server.grant(4096);
  EXPECT_EQ(server.show(small).at("bytes"), 2u << 20);
  Locator const grant = server.grant(14u << 20);
  {
    Session session = Session::open(grant);
    GrantMapping const memory = session.map();
    std::memset(memory.base(), 1, 14u << 20);
    server.ask({{"op", "revoke"}, {"grant", grant.grant}});
    // Memory that this process touches again may count, but no page counts twice.
    std::memset(memory.base(), 1, 4u << 20);
    Json const usage = server.ask({{"op", "usage"}});
    EXPECT_LE(usage.at("ending").get<std::uint64_t>(), 14u << 20);
    EXPECT_EQ(usage.at("ending_grants"), 1) << "this process still has the memory";
  }
  EXPECT_TRUE(eventually([&] { return server.ask({{"op", "usage"}}).at("ending_grants") == 0; }));
  server.ask({{"op", "revoke"}, {"grant", small.grant}});
  EXPECT_TRUE(eventually([&] { return HugePages::free_pages() == free_before; }));
}

}  // namespace
}  // namespace mpixrma::nam
