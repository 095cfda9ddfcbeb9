/// A kernel that begins to refuse access to other processes' memory in the middle of an operation.
#include <errno.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <numeric>
#include <vector>

#include "tests/support/engine_paths.hpp"

namespace {
int permitted = 0;  ///< calls that write
}

extern "C" __attribute__((visibility("default"))) ssize_t process_vm_writev(pid_t pid, iovec const* local,
                                                                            unsigned long locals,
                                                                            iovec const* remote,
                                                                            unsigned long remotes,
                                                                            unsigned long flags) noexcept {
  if (permitted-- > 0) return ::syscall(SYS_process_vm_writev, pid, local, locals, remote, remotes, flags);
  errno = EPERM;
  return -1;
}

namespace mpix::engine {
namespace {

constexpr std::size_t words = 50000;  // several chunks of the kernel's path

TEST(Refusal, UpdatesEachElementOnce) {
  auto const without_mail = [](mpix_engine_config& config) { config.mailbox_us = -1; };
  for (std::ptrdiff_t const stride : {8, 16}) {
    for (int const calls : {0, 1, 3, 50}) {
      test::run_job(2, without_mail, [=](Rank& rank) {
        std::vector<std::int64_t> memory(2 * words);
        std::iota(memory.begin(), memory.end(), 1);
        rank.show(0, memory.data());
        rank.barrier();
        auto const step = static_cast<std::size_t>(stride) / 8;
        if (rank.rank() == 0) {
          std::vector<std::int64_t> const ones(words, 1);
          std::vector<std::int64_t> before(words);
          Update sum = contiguous(Operation::sum, ElementType::int64, ones.data(), rank.shown(1, 0),
                                  8 * words, before.data());
          sum.guarantees = Guarantee::none;
          Dimension const apart[] = {{words, stride}};
          if (step != 1) sum.target_layout = Layout{8, apart, {}};
          permitted = calls;
          EXPECT_EQ(run(rank.engine(), rank.peer(1), sum), Status::ok);
          for (std::size_t i = 0; i < words; ++i)
            ASSERT_EQ(before[i], static_cast<std::int64_t>(step * i) + 1);
        }
        rank.barrier();
        if (rank.rank() == 1) {
          for (std::size_t i = 0; i < 2 * words; ++i) {
            bool const is_target = i % step == 0 && i / step < words;
            ASSERT_EQ(memory[i], static_cast<std::int64_t>(i) + 1 + (is_target ? 1 : 0))
                << i << ", " << calls;
          }
        }
        rank.barrier();
      });
    }
  }
}

}  // namespace
}  // namespace mpix::engine
