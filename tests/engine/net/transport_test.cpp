/// Closing a worker whose endpoints have not finished closing.
#include "engine/net/transport.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "engine/net/ucx_context.hpp"

namespace mpixrma::engine {
namespace {

struct NoMessages final : MessageHandler {
  void on_message(wire::MessageClass, std::span<std::byte const>,
                  std::span<std::byte const>) noexcept override {}
  void on_disconnect(std::span<std::byte const>) noexcept override {}
  void on_lost(ucp_ep_h, char const*) noexcept override {}
  void on_rejected(std::uint64_t, char const*) noexcept override {}
};

TEST(Transport, ClosesWhileAnEndpointFlushesToAProcessThatDoesNotAnswer) {
  ::setenv("UCX_TLS", "tcp,self", 1);
  Log const log;
  UcxContext context(log);
  ASSERT_FALSE(failed(context.open({})));
  NoMessages handler;
  Transport silent(log);  // makes no progress, so the endpoint is never connected
  Transport closing(log);
  ASSERT_FALSE(failed(silent.open(handler, context)));
  ASSERT_FALSE(failed(closing.open(handler, context)));
  closing.begin();
  ucp_ep_h endpoint = nullptr;
  ASSERT_EQ(closing.connect(silent.worker_address(), Transport::FailureDetection::reported, &endpoint),
            Status::ok);
  Message& message = closing.message();
  message.set_header(std::uint64_t{0});
  ASSERT_FALSE(failed(closing.send(endpoint, wire::MessageClass::request, message)));
  closing.flush_and_close(endpoint);
  ::testing::internal::CaptureStdout();  // UCX warns there
  closing.close();
  EXPECT_EQ(::testing::internal::GetCapturedStdout().find("not returned"), std::string::npos)
      << "a request of UCX was not released";
  EXPECT_FALSE(closing.is_open());
}

}  // namespace
}  // namespace mpixrma::engine
