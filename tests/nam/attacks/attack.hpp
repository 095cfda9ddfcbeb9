/// An attack by another user, in a process of its own.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <memory>

#include "tests/nam/server_fixture.hpp"

namespace mpixrma::nam {

/// A process of another user that calls `attack` and holds the returned object until the Attack is destroyed.
/// The test fails if `attack` returns null.
class Attack {
 public:
  Attack(uid_t uid, std::function<std::shared_ptr<void>()> const& attack) {
    int ends[2] = {-1, -1};
    int done[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    EXPECT_EQ(::pipe2(done, O_CLOEXEC), 0);
    life_ = FileDescriptor(ends[1]);
    FileDescriptor const theirs(ends[0]);
    FileDescriptor const ready(done[0]);
    FileDescriptor signal(done[1]);
    child_ = ::fork();
    if (child_ == 0) {
      life_ = FileDescriptor();
      if (::setgid(uid) != 0 || ::setuid(uid) != 0) ::_exit(1);
      std::shared_ptr<void> const held = attack();
      signal = FileDescriptor();
      char ignored = 0;
      (void)!::read(theirs.get(), &ignored, 1);
      ::_exit(held ? 0 : 1);
    }
    signal = FileDescriptor();
    char ignored = 0;
    (void)!::read(ready.get(), &ignored, 1);
  }
  ~Attack() {
    life_ = FileDescriptor();
    int status = 0;
    EXPECT_EQ(::waitpid(child_, &status, 0), child_);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  Attack(Attack const&) = delete;
  Attack& operator=(Attack const&) = delete;

 private:
  FileDescriptor life_;
  pid_t child_ = -1;
};

}  // namespace mpixrma::nam
