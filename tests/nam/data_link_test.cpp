/// The control process's side of a data process. The test plays the main process and the data process.
#include "nam/server/data_link.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <memory>

#include "nam/client/locked_temp_directory.hpp"
#include "nam/protocol/version.hpp"

namespace mpixrma::nam {
namespace {

class DataLinkTest : public ::testing::Test {
 protected:
  DataLinkTest() : directory_(make_locked_temp_directory("mpix-nam-link-")) {
    int pair[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    main_ = Channel(FileDescriptor(pair[0]), main_process_limits);
    main_.post({{"op", "begin"}, {"first_user", 0u}, {"users", 0u}});
    main_.post({{"pid", 1u}, {"request", 1u}});  // the answer to the first start
    EXPECT_TRUE(main_.flush());
    main_process_ = std::make_unique<MainProcessLink>(FileDescriptor(pair[1]));
    EventLoop::start_timer(loop_.add_timer([this] { loop_.stop(); }), std::chrono::seconds(60));
  }
  ~DataLinkTest() override { std::filesystem::remove_all(directory_.path); }

  std::unique_ptr<DataLink> link_with(DataLink::Events events, StorageKind storage = StorageKind::memory) {
    if (!events.on_ready) events.on_ready = [] {};
    events.on_failed = [](Error const&) {};
    events.admins = [] { return std::vector<uid_t>(); };
    if (!events.window_count) events.window_count = [] { return 0u; };
    events.on_ended = [this] { loop_.stop(); };
    Json const setup{{"grant", "g"},
                     {"owner", 0u},
                     {"bytes", 4096u},
                     {"encrypt", false},
                     {"adoption", (directory_.path / "g").string()}};
    return std::make_unique<DataLink>(loop_, *main_process_, setup, storage, "user", std::move(events));
  }
  /// Returns the next message to the main process; nothing if there is none.
  std::optional<Message> next() {
    EXPECT_TRUE(main_.fill());
    return main_.next();
  }

  EventLoop loop_;
  LockedTempDirectory directory_;
  Channel main_;
  std::unique_ptr<MainProcessLink> main_process_;
};

/// A process that is ready when its grant has just ended does not make the main process keep the memory.
TEST_F(DataLinkTest, MemoryOfEndedGrantIsNotHeld) {
  auto const link = link_with({});
  link->start(DataLink::OnFailure::give_up);
  auto start = next();
  ASSERT_TRUE(start && start->descriptors.size() == 1);
  Channel data(std::move(start->descriptors.front()), {});
  link->end(DataLink::WindowsAtEnd::discarded);
  std::vector<FileDescriptor> memory;
  for (char const* const name : {"control", "memory"}) memory.emplace_back(::memfd_create(name, MFD_CLOEXEC));
  data.post({{"op", "ready"}}, {}, std::move(memory));
  EXPECT_TRUE(data.flush());
  data = Channel();
  loop_.run();
  EXPECT_TRUE(link->has_ended());
  for (auto message = next(); message; message = next()) EXPECT_EQ(message->head.at("op"), "drop");
}

/// Plays a data process: reports that it is ready with its memory.
Channel ready_process(Message start) {
  Channel data(std::move(start.descriptors.front()), {.descriptors = 5});
  std::vector<FileDescriptor> memory;
  for (char const* const name : {"segments", "control", "memory"})
    memory.emplace_back(::memfd_create(name, MFD_CLOEXEC));
  data.post({{"op", "ready"}, {"protocol", data_protocol_version}}, {}, std::move(memory));
  EXPECT_TRUE(data.flush());
  return data;
}

/// The data process dies after it was told to write its windows to the file.
TEST_F(DataLinkTest, WindowsAreStoredByAnotherProcessIfThisOneDiesAtTheEnd) {
  std::unique_ptr<DataLink> link;
  Channel data;
  auto const end = [&] {
    link->end(DataLink::WindowsAtEnd::kept);
    data = Channel();
  };
  auto const open = [] {
    return GrantFile::Opened{FileDescriptor(::memfd_create("file", MFD_CLOEXEC)), false};
  };
  link = link_with({.on_ready = [&] { loop_.later(end); }, .open_file = open}, StorageKind::file);
  link->start(DataLink::OnFailure::give_up);
  auto start = next();
  ASSERT_TRUE(start);
  data = ready_process(std::move(*start));
  main_.post({{"pid", 2u}, {"request", 2u}});
  EXPECT_TRUE(main_.flush());
  bool is_stored = false;
  loop_.every(std::chrono::milliseconds(1), [&] {
    if (!data) {
      for (auto message = next(); message; message = next()) {
        if (message->head.at("op") == "start") data = ready_process(std::move(*message));
      }
    } else if (data.fill()) {
      for (auto message = data.next(); message; message = data.next())
        is_stored = is_stored || message->head.at("op") == "end";
      if (is_stored) data.post({{"op", "stored"}});
      EXPECT_TRUE(data.flush());
      if (is_stored) data = Channel();
    }
  });
  loop_.run();
  EXPECT_TRUE(is_stored);
  EXPECT_TRUE(link->has_ended());
}

TEST_F(DataLinkTest, WindowsOfUnfinishedFileAreLost) {
  bool are_lost = false;
  bool is_new = false;
  for (bool const expected : {false, true}) {
    is_new = expected;
    auto const link = link_with(
        {.window_count = [] { return 1u; },
         .on_memory_lost = [&] { are_lost = true; },
         .open_file =
             [&] {
               return GrantFile::Opened{FileDescriptor(::memfd_create("file", MFD_CLOEXEC)), is_new};
             }},
        StorageKind::file);
    main_.post({{"pid", 1u}, {"request", 2u}});
    EXPECT_TRUE(main_.flush());
    link->start(DataLink::OnFailure::give_up);
    EXPECT_EQ(are_lost, expected);
  }
}

/// Another process has locked the catalog when the server starts.
TEST_F(DataLinkTest, LockedCatalogDelaysTheStart) {
  auto const link = link_with({.window_count = [] { return 1u; },
                               .on_memory_lost = [] { throw Error(ErrorCode::unavailable, "locked"); }});
  link->start(DataLink::OnFailure::try_again);
  EXPECT_EQ(link->failure(), "");
  link->start(DataLink::OnFailure::give_up);
  EXPECT_EQ(link->failure(), "locked");
}

}  // namespace
}  // namespace mpixrma::nam
