/// Servers that are not what they claim to be: sockets of other users, and impossible answers.
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <future>
#include <random>
#include <thread>

#include "engine/net/address.hpp"
#include "nam/client/follow.hpp"
#include "nam/client/spread.hpp"
#include "tests/nam/attacks/fake_server.hpp"
#include "tests/nam/attacks/tool.hpp"
#include "tests/nam/attacks/users.hpp"
#include "tests/nam/windows_of_server.hpp"
#include "tests/support/seed.hpp"

namespace mpixrma::nam {
namespace {

/// Answers each request at a Unix socket with the result of `answer`.
class FakeServer {
 public:
  using Answer = std::function<Message(Json const& request)>;

  explicit FakeServer(Answer answer) : directory_(make_locked_temp_directory("mpix-nam-fake-")) {
    listener_ = listen_unix(path(), 0666);
    thread_ = std::thread([this, answer = std::move(answer)] { run(answer); });
  }
  ~FakeServer() {
    stopping_ = true;
    thread_.join();
    std::filesystem::remove_all(directory_.path);
  }

  std::string path() const { return directory_.path / "socket"; }
  Locator grant() const { return {"0a", "", {path(), "", 0}}; }

 private:
  void run(Answer const& answer) {
    std::vector<std::unique_ptr<Channel>> channels;
    while (!stopping_) {
      pollfd entry{listener_.get(), POLLIN, 0};
      if (::poll(&entry, 1, 1) == 1)
        channels.push_back(std::make_unique<Channel>(accept_from(listener_), ChannelLimits{}));
      std::erase_if(channels, [&](auto& channel) {
        bool const open = channel->fill();
        while (auto request = channel->next()) {
          Message reply = answer(request->head);
          channel->post(reply.head, std::move(reply.data), std::move(reply.descriptors));
        }
        return !channel->flush() || !open;
      });
    }
  }

  LockedTempDirectory directory_;
  FileDescriptor listener_;
  std::atomic<bool> stopping_ = false;
  std::thread thread_;
};

Json window_answer() {
  return {{"window", "0b"},  {"grant", "0a"}, {"owner", 0},         {"persistent", false},
          {"read", true},    {"write", true}, {"slot", 0},          {"durability", "clients"},
          {"generation", 0}, {"offset", 0},   {"sizes", {4096}},    {"units", {1}},
          {"mode", 0600},    {"group", 0},    {"storage", "memory"}};
}

FileDescriptor memory_of(std::uint64_t bytes) {
  FileDescriptor made(::memfd_create("mpix-nam-fake", MFD_CLOEXEC));
  EXPECT_EQ(::ftruncate(made.get(), static_cast<off_t>(bytes)), 0);
  return made;
}

/// Returns a genuine answer to "map", except for `bytes`, the claimed size of the memory.
Message memory_answer(std::uint64_t bytes) {
  Message reply;
  reply.head = {{"bytes", bytes}, {"pid_namespace", engine::HostIdentity::of_this_process().pid_namespace}};
  reply.descriptors.push_back(memory_of(1u << 20));
  reply.descriptors.push_back(FileDescriptor(::dup(SharedControl::make(16).descriptor().get())));
  return reply;
}

/// Returns the client's error for a window that the server describes like this.
std::optional<ErrorCode> refusal_of(Json const& described) {
  FakeServer const server([&](Json const& request) {
    if (request.at("op") == "map") return memory_answer(1u << 20);
    return Message{request.at("op") == "allocate" ? described : Json{{"ok", true}}, {}, {}};
  });
  return refusal([&] {
    Session session = Session::open(server.grant());
    WindowInfo const window = session.allocate({4096}, {1});
    session.map().check(window);
  });
}

Json changed(char const* name, Json const& value) {
  Json answer = window_answer();
  answer[name] = value;
  return answer;
}

TEST(HostileServer, ImpossibleWindowIsRefused) {
  EXPECT_EQ(refusal_of(window_answer()), std::nullopt);
  for (Json const& wrong :
       {changed("slot", 4'000'000'000u), changed("slot", 16), changed("offset", 1u << 20),
        changed("offset", UINT64_MAX), changed("offset", UINT64_MAX - 63), changed("sizes", {UINT64_MAX}),
        changed("sizes", {8192}), changed("sizes", Json::array()), changed("units", {0}),
        changed("units", {2}), changed("units", {1, 1}), changed("slot", -1), changed("stripe", 5),
        changed("other_parts", std::vector<std::string>(100, "mpix-nam://a/b?unix=/c")),
        changed("sizes", std::vector<std::uint64_t>(70000, 1))})
    EXPECT_EQ(refusal_of(wrong), ErrorCode::malformed) << wrong.dump().substr(0, 300);
}

/// Answers name no request, so a late one would be taken for the answer to the next request.
TEST(HostileServer, LateAnswerIsNotTakenForTheNextOne) {
  FakeServer const server([](Json const& request) {
    bool const is_slow = request.at("op") == "slow";
    if (is_slow) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return Message{{{"answer_to", request.at("op")}}, {}, {}};
  });
  Client client(server.grant().address, 100);
  EXPECT_EQ(client.request({{"op", "fast"}}).at("answer_to"), "fast");
  EXPECT_EQ(refusal([&] { (void)client.request({{"op", "slow"}}); }), ErrorCode::unavailable);
  EXPECT_TRUE(client.is_open());
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  for (int round = 0; round < 3; ++round)
    EXPECT_EQ(client.request({{"op", "fast"}}).at("answer_to"), "fast") << round;
}

/// A client waits longer for an answer before which the server stores many bytes.
TEST(HostileServer, ClientWaitsLongerForMuchData) {
  FakeServer const server([](Json const& request) {
    bool const is_slow = request.at("op") == "persist";
    if (is_slow) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    return Message{
        request.at("op") == "allocate" ? changed("sizes", {8u << 20}) : Json{{"ok", true}}, {}, {}};
  });
  Session session = Session::open(server.grant(), 100);
  WindowInfo window = session.allocate({8u << 20}, {1});
  session.persist(window);
  window.regions.front().bytes = 1;
  EXPECT_EQ(refusal([&] { session.persist(window); }), ErrorCode::unavailable);
}

TEST(HostileServer, MissingMemoryIsRefused) {
  for (std::uint64_t const bytes : {(std::uint64_t{1} << 20) + 1, std::uint64_t{1} << 40, UINT64_MAX}) {
    FakeServer const server([=](Json const& request) {
      return request.at("op") == "map" ? memory_answer(bytes) : Message{{{"ok", true}}, {}, {}};
    });
    EXPECT_EQ(refusal([&] { (void)Session::open(server.grant()).map(); }), ErrorCode::malformed) << bytes;
  }
  FakeServer const without_control([](Json const& request) {
    Message reply = memory_answer(1u << 20);
    if (request.at("op") == "map") reply.descriptors[1] = memory_of(64);
    if (request.at("op") != "map") reply.descriptors.clear();
    return reply;
  });
  EXPECT_EQ(refusal([&] { (void)Session::open(without_control.grant()).map(); }), ErrorCode::unavailable);
}

/// Random values in random fields: the client reports an error, or the window lies in the memory.
TEST(HostileServer, RandomRepliesYieldErrorsOrValidWindows) {
  std::mt19937_64 random(test::seed());
  std::vector<Json> const values{0,
                                 1,
                                 -1,
                                 15,
                                 16,
                                 4096,
                                 1u << 20,
                                 UINT32_MAX,
                                 UINT64_MAX,
                                 UINT64_MAX / 2,
                                 "",
                                 "0b",
                                 nullptr,
                                 true,
                                 Json::array(),
                                 Json::array({4096}),
                                 Json::array({UINT64_MAX, 1}),
                                 Json::object(),
                                 1.5};
  FakeServer const server([&](Json const& request) {
    if (request.at("op") == "map") return memory_answer(1u << 20);
    Json answer = window_answer();
    for (unsigned i = 0; i < 1 + random() % 2; ++i) {
      auto field = answer.begin();
      std::advance(field, random() % answer.size());
      field.value() = values[random() % values.size()];
    }
    return Message{std::move(answer), {}, {}};
  });
  Session session = Session::open(server.grant());
  GrantMapping const memory = session.map();
  int sound = 0;
  for (int round = 0; round < 1000; ++round) {
    try {
      WindowInfo const window = session.allocate({4096}, {1});
      memory.check(window);
      (void)memory.control().generation(window.slot).load();
      for (WindowRegion const& region : window.regions) std::memset(memory.at(region), 1, region.bytes);
      ++sound;
    } catch (Error const&) {
    }
  }
  EXPECT_GT(sound, 0);
}

TEST(HostileServer, DeeplyNestedReplyIsRefused) {
  Json deep = 1;
  for (int i = 0; i < 1000; ++i) deep = Json::array({deep});
  FakeServer const server([&](Json const&) { return Message{{{"deep", deep}}, {}, {}}; });
  EXPECT_EQ(refusal([&] { Client(server.grant().address).request({{"op", "list"}}); }), ErrorCode::malformed);
}

/// A socket of another user in the place of a server's socket.
TEST(HostileServer, SocketOfAnotherUserIsRefused) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  LockedTempDirectory const directory = make_locked_temp_directory("mpix-nam-fake-");
  std::string const path = directory.path / "socket";
  ASSERT_EQ(::chown(directory.path.c_str(), attacker, attacker), 0);
  std::filesystem::permissions(directory.path, std::filesystem::perms(0755));
  std::array<int, 2> life{};
  ASSERT_EQ(::pipe(life.data()), 0);
  pid_t const squatter = ::fork();
  if (squatter == 0) {
    (void)::setgid(attacker);
    (void)::setuid(attacker);
    ::close(life[1]);
    FileDescriptor const listener = listen_unix(path, 0666);
    char ended = 0;
    (void)!::read(life[0], &ended, 1);
    ::_exit(0);
  }
  // The path exists shortly before somebody listens there.
  ASSERT_TRUE(eventually([&] {
    return std::filesystem::exists(path) && refusal([&] {
                                              Client(Address{path, "", 0});
                                            }) != ErrorCode::unavailable;
  }));
  EXPECT_EQ(refusal([&] { Client(Address{path, "", 0}); }), ErrorCode::denied);
  EXPECT_TRUE(as_user(64002, [&] {
    return refusal([&] { Client(Address{path, "", 0}); }) == ErrorCode::denied;
  }));
  ::close(life[1]);
  EXPECT_EQ(::waitpid(squatter, nullptr, 0), squatter);
  ::close(life[0]);
  std::filesystem::remove_all(directory.path);
}

/// A server of a user who owns a directory that only he and root can change is accepted there.
TEST(HostileServer, ServerInItsOwnersDirectoryIsTrusted) {
  if (!is_root()) GTEST_SKIP() << "needs other users";
  std::filesystem::path const directory = "/run/mpix-nam-test-" + random_identifier();
  std::filesystem::create_directory(directory);
  ASSERT_EQ(::chown(directory.c_str(), attacker, attacker), 0);
  std::filesystem::permissions(directory, std::filesystem::perms(0755));
  std::string const path = directory / "socket";
  pid_t const owning_process = ::fork();
  if (owning_process == 0) {
    (void)::setgid(attacker);
    (void)::setuid(attacker);
    FileDescriptor const listener = listen_unix(path, 0666);
    ::pause();
  }
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(path); }));
  EXPECT_TRUE(as_user(64002, [&] {
    Client const client(Address{path, "", 0});
    return client.is_open();
  }));
  std::filesystem::permissions(directory, std::filesystem::perms(0777));
  EXPECT_TRUE(as_user(64002, [&] {
    return refusal([&] { Client(Address{path, "", 0}); }) == ErrorCode::denied;
  }));
  ::kill(owning_process, SIGKILL);
  EXPECT_EQ(::waitpid(owning_process, nullptr, 0), owning_process);
  std::filesystem::remove_all(directory);
}

/// Listens, and accepts nobody: a further connection would wait.
class FullListener {
 public:
  FullListener()
      : directory_(make_locked_temp_directory("mpix-nam-full-")), listener_(bind_unix(path(), 0666)) {
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path().copy(address.sun_path, sizeof address.sun_path - 1);
    do {
      waiting_.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    } while (::connect(waiting_.back().get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    EXPECT_EQ(errno, EAGAIN);
  }
  ~FullListener() { std::filesystem::remove_all(directory_.path); }

  std::string path() const { return directory_.path / "socket"; }
  /// Lets calls that hang go on.
  void drain() {
    while (accept_from(listener_)) {
    }
  }

 private:
  LockedTempDirectory directory_;
  FileDescriptor listener_;
  std::vector<FileDescriptor> waiting_;
};

TEST(HostileServer, ListenerThatDoesNotAcceptEndsTheCall) {
  FullListener full;
  Address const there{full.path(), "", 0};
  std::vector<std::future<bool>> calls;
  auto const call = [&](std::function<bool()> body) {
    calls.push_back(std::async(std::launch::async, std::move(body)));
  };
  call([&] {
    return refusal([&] { (void)followed(there, {"/run/one/socket", "", 0}); }) == ErrorCode::unavailable;
  });
  call([&] { return refusal([&] { Client client(there, 1000); }) == ErrorCode::unavailable; });
  call([&] {
    ToolRun const run = run_tool("--server " + full.path() + " list");
    return run.output.find("accepts no connections") != std::string::npos;
  });
  for (std::size_t i = 0; i < calls.size(); ++i) {
    bool const ends = calls[i].wait_for(std::chrono::seconds(60)) == std::future_status::ready;
    EXPECT_TRUE(ends) << "call " << i << " hangs";
    while (calls[i].wait_for(std::chrono::milliseconds(10)) != std::future_status::ready) full.drain();
    EXPECT_TRUE(calls[i].get()) << i;
  }
}

TEST(HostileServer, NameThatLeadsToAnotherServerIsRefused) {
  FakeServer const server([](Json const&) {
    return Message{{{"name", "n"}, {"owner", "o"}, {"port", "mpix-nam://0a/0b?tcp=10.0.0.1:7726"}}, {}, {}};
  });
  std::string const tool =
      std::string(MPIX_NAM_TOOL) + " lookup n --server " + server.path() + " > /dev/null 2>&1";
  EXPECT_EQ(WEXITSTATUS(std::system(tool.c_str())), 7);
}

TEST(HostileServer, FiltersControlCharacters) {
  std::string const evil = "\x1b]0;title\a";
  FakeServer const server([&](Json const&) {
    Json const grant{{"grant", evil},
                     {"locator", evil},
                     {"owner", evil},
                     {"bytes", 1},
                     {"used", 1},
                     {"storage", evil},
                     {"disk", 1},
                     {"network", evil},
                     {"ready", false},
                     {"reason", evil},
                     {"state", evil},
                     {"sessions", 1},
                     {"pid", 1},
                     {"windows", 1},
                     {"expires_in", nullptr},
                     {"window_list", Json::array()}};
    Json answer = grant;
    answer["grants"] = {grant};
    return Message{answer, {}, {}};
  });
  for (char const* const command : {"list", "show 0a"}) {
    ToolRun const run = run_tool("--server " + server.path() + " " + command);
    EXPECT_EQ(run.exit_code, 0) << run.output;
    EXPECT_NE(run.output.find("\\x1b]0;title\\x07"), std::string::npos) << run.output;
    EXPECT_EQ(run.output.find('\x1b'), std::string::npos) << command;
    EXPECT_EQ(run.output.find('\a'), std::string::npos) << command;
  }
}

}  // namespace
}  // namespace mpixrma::nam
