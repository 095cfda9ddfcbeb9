/// Processes of users, and requests of users who do not own the grant.
#pragma once

#include <functional>

#include "tests/nam/windows_of_server.hpp"

namespace mpixrma::nam {

inline constexpr std::size_t window_bytes = 4096;  ///< size of each region of the windows that guests use

/// A process of the user. It runs `body`, which calls its argument to wait for the test, and returns whether
/// all was as expected.
class UserProcess {
 public:
  using Wait = std::function<void()>;

  UserProcess(uid_t uid, gid_t gid, std::function<bool(Wait const&)> const& body) {
    EXPECT_EQ(::pipe2(steps_, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(goes_on_, O_CLOEXEC), 0);
    child_ = ::fork();
    if (child_ == 0) {
      bool good = false;
      try {
        good = ::setgid(gid) == 0 && ::setuid(uid) == 0 && body([this] { wait_for_test(); });
      } catch (std::exception const& error) {
        std::fprintf(stderr, "as user %u: %s\n", uid, error.what());
      }
      ::_exit(good ? 0 : 1);
    }
    ::close(steps_[1]);
  }
  ~UserProcess() {
    int status = 0;
    EXPECT_EQ(::waitpid(child_, &status, 0), child_);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (int const end : {steps_[0], goes_on_[0], goes_on_[1]}) ::close(end);
  }
  UserProcess(UserProcess const&) = delete;
  UserProcess& operator=(UserProcess const&) = delete;

  /// Returns when the process waits.
  void await() const {
    char step = 0;
    EXPECT_EQ(::read(steps_[0], &step, 1), 1);
  }
  void go_on() const { EXPECT_EQ(::write(goes_on_[1], "g", 1), 1); }

 private:
  void wait_for_test() const {
    char step = 's';
    if (::write(steps_[1], &step, 1) != 1 || ::read(goes_on_[0], &step, 1) != 1) ::_exit(2);
  }

  int steps_[2] = {-1, -1};
  int goes_on_[2] = {-1, -1};
  pid_t child_ = -1;
};

/// Expects `body` to return true in a process of the user.
inline void expect_as(uid_t uid, gid_t gid, std::function<bool()> const& body) {
  UserProcess const process(uid, gid, [&](UserProcess::Wait const&) { return body(); });
}

inline bool try_lock(Session& session, WindowInfo const& window, engine::LockMode mode,
                     std::uint64_t holder = 1) {
  bool has_turn = false;
  return session.try_lock(window, holder, 0, mode, &has_turn);
}

inline std::optional<ErrorCode> exclusive_lock(Session& session, WindowInfo const& window) {
  return refusal([&] { (void)try_lock(session, window, engine::LockMode::exclusive); });
}

}  // namespace mpixrma::nam
