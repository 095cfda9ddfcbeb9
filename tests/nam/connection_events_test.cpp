/// The functions of the C library that a data process replaces for UCX: UCX learns of the end of a connection
/// only by reading.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <vector>

#include "engine/base/shared_memory.hpp"

namespace mpixrma::nam {
namespace {

using engine::FileDescriptor;

/// A TCP connection that is reset, because the far end has closed it with unread data.
class ResetConnection : public ::testing::Test {
 protected:
  void SetUp() override {
    FileDescriptor listener(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    ASSERT_EQ(::bind(listener.get(), any, length), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    ASSERT_EQ(::getsockname(listener.get(), any, &length), 0);
    near_ = FileDescriptor(::socket(AF_INET, SOCK_STREAM, 0));
    ASSERT_EQ(::connect(near_.get(), any, length), 0);
    FileDescriptor far(::accept(listener.get(), nullptr, nullptr));
    ASSERT_EQ(send(MSG_NOSIGNAL), 1);
    watch();
    far = FileDescriptor();
    EXPECT_EQ(wait_for_end() & EPOLLIN, static_cast<unsigned>(EPOLLIN));
  }

  ssize_t send(int flags) {
    char byte = 'x';
    iovec part{&byte, 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    return ::sendmsg(near_.get(), &message, flags);
  }

  void watch() {
    epoll_ = FileDescriptor(::epoll_create1(0));
    epoll_event event{EPOLLIN | EPOLLOUT, {}};
    ASSERT_EQ(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, near_.get(), &event), 0);
  }

  /// Returns the events of the connection once it can be read.
  unsigned wait_for_end() {
    epoll_event event{};
    for (int i = 0; i < 10000; ++i) {
      if (::epoll_wait(epoll_.get(), &event, 1, 1) == 1 && (event.events & EPOLLIN) != 0) break;
    }
    return event.events;
  }

  FileDescriptor near_;
  FileDescriptor epoll_;
};

TEST_F(ResetConnection, IsNotReportedAsWritable) { EXPECT_EQ(wait_for_end() & EPOLLOUT, 0u); }

TEST_F(ResetConnection, RefusesDataOfUcx) {
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(send(MSG_NOSIGNAL), -1);
    EXPECT_EQ(errno, EAGAIN);
  }
  // The error is gone, the end is still there.
  EXPECT_EQ(wait_for_end() & EPOLLIN, static_cast<unsigned>(EPOLLIN));
  char byte = 0;
  EXPECT_EQ(::recv(near_.get(), &byte, 1, MSG_DONTWAIT), 0);
}

TEST_F(ResetConnection, ReportsItsErrorToMessagesOfTheServer) {
  EXPECT_EQ(send(MSG_NOSIGNAL | MSG_DONTWAIT), -1);
  EXPECT_EQ(errno, ECONNRESET);
}

TEST(ConnectionEvents, OtherSocketsKeepTheirErrors) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  FileDescriptor const near(ends[0]);
  { FileDescriptor const far(ends[1]); }
  msghdr message{};
  char byte = 'x';
  iovec part{&byte, 1};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  EXPECT_EQ(::sendmsg(near.get(), &message, MSG_NOSIGNAL), -1);
  EXPECT_EQ(errno, EPIPE);
}

}  // namespace
}  // namespace mpixrma::nam
