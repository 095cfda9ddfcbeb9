/// A forked process that runs a preparation and is then stopped or killed.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <new>
#include <utility>

namespace mpixrma::test {

/// One object in memory that this process shares with its children.
template <typename T>
class Shared {
 public:
  Shared()
      : object_(new (::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))
                    T()) {}
  ~Shared() { ::munmap(object_, sizeof(T)); }
  Shared(Shared const&) = delete;
  Shared& operator=(Shared const&) = delete;

  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }

 private:
  T* object_;
};

class Child {
 public:
  enum class Then { sleep, end_first_thread };

  /// Returns when the child has run `body`. The child keeps the result of `body`, and then sleeps until it is
  /// killed; with end_first_thread, its first thread ends instead.
  template <typename Body>
  explicit Child(Body body, Then then = Then::sleep) {
    Shared<std::atomic<bool>> ready;
    pid_ = ::fork();
    EXPECT_GE(pid_, 0);
    if (pid_ != 0) {
      while (!ready->load() && ::waitpid(pid_, nullptr, WNOHANG) == 0) ::usleep(100);
      EXPECT_TRUE(ready->load());
      return;
    }
    auto const kept = [&] {
      if constexpr (std::is_void_v<decltype(body())>) {
        body();
        return 0;
      } else {
        return body();
      }
    }();
    (void)kept;
    ready->store(true);
    if (then == Then::end_first_thread) ::syscall(SYS_exit, 0);
    for (;;) ::pause();
  }
  ~Child() {
    if (pid_ <= 0 || reaped_) return;
    kill();
    reap();
  }
  Child(Child const&) = delete;
  Child& operator=(Child const&) = delete;

  pid_t pid() const { return pid_; }
  void kill() { ::kill(pid_, SIGKILL); }
  void reap() {
    EXPECT_EQ(::waitpid(pid_, nullptr, 0), pid_);
    reaped_ = true;
  }
  /// Returns when the child is stopped.
  void stop() {
    ::kill(pid_, SIGSTOP);
    int status = 0;
    EXPECT_EQ(::waitpid(pid_, &status, WUNTRACED), pid_);
    EXPECT_TRUE(WIFSTOPPED(status));
  }

 private:
  pid_t pid_ = -1;
  bool reaped_ = false;
};

}  // namespace mpixrma::test
