/// Attacks on MPI jobs on another host than their memory server: a man in the middle changes, drops and
/// injects packets, and a user of the job's host replays what he has read.
///
/// In each case the job ends, with an error or without; no byte that was reported complete is lost; locks
/// become free; the server, its data process and later jobs continue. Where data are authenticated, the
/// window has no byte that no job has put.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <random>

#include "engine/net/seal.hpp"
#include "tests/nam/attacks/guest.hpp"
#include "tests/nam/attacks/middle/middleman.hpp"
#include "tests/nam/attacks/middle/record.hpp"
#include "tests/nam/attacks/network.hpp"
#include "tests/support/seed.hpp"

namespace mpixrma::nam {
namespace {

constexpr int endless = 100000000;  ///< rounds

/// The paths to a window of a server on another host.
enum class Path {
  port,       ///< of the grant's owner, by UCX
  encrypted,  ///< the same with --encrypt
  requests    ///< of another user, by requests in the session's connection
};

std::string name_of(testing::TestParamInfo<Path> const& path) {
  return path.param == Path::port ? "Port" : path.param == Path::encrypted ? "Encrypted" : "Requests";
}

/// The middleman, for all tests of this process, which is on the server's host.
Middleman* middleman() {
  static std::unique_ptr<Middleman> const made = Middleman::make();
  return made.get();
}

class ManInTheMiddle : public testing::TestWithParam<Path> {
 protected:
  using Sent = Middleman::Sent;
  using Sents = std::vector<Sent>;

  void SetUp() override {
    if (middleman() == nullptr) GTEST_SKIP() << "needs root, and network namespaces";
    TestServer::Arguments arguments{
        "--size",       "64M",          "--listen", std::string(Middleman::server_host) + ":0",
        "--interfaces", "10.98.0.0/24", "--lease",  "3"};
    if (GetParam() == Path::encrypted) arguments.emplace_back("--encrypt");
    server_.start(arguments);
    server_.admit_all_users();
    grant_ = server_.grant(4u << 20);
    control_port_ = grant_.address.port;
    own_.emplace(Session::open(grant_));
    window_ = own_->allocate({record_window_bytes}, {1}, {.persistent = true, .mode = 0666});
    process_ = server_.data_process(grant_);
    make_secret();
  }
  void TearDown() override {
    if (middleman() != nullptr) middleman()->meddle({});
  }

  /// Resets the records of the window, and starts a job of a user, in which both ranks put and count in the
  /// window.
  pid_t start_job(int rounds) {
    std::vector<std::uint64_t> words(record_window_bytes / sizeof(std::uint64_t));
    for (int rank = 0; rank < record_ranks; ++rank)
      std::fill_n(words.begin() + rank * static_cast<int>(record_words), record_words, stamp_of(rank, 0));
    own_->write(window_, 0, 0, std::as_bytes(std::span(words)));
    std::ofstream(ledger_file(), std::ios::trunc | std::ios::binary)
        .write(std::string(sizeof(Ledger), '\0').data(), sizeof(Ledger));
    pid_t const job = ::fork();
    if (job != 0) return job;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    int const log = ::open(log_file().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::setenv("MPIX_NAM_TCP", "1", 1);
    ::setenv("MPIX_NAM_SECRET_FILE", secret_file_of_job().c_str(), 1);
    if (GetParam() == Path::requests) ::setenv("MPIX_NAM_USER", "nobody", 1);
    if (GetParam() == Path::encrypted) ::setenv("MPIX_NAM_ENCRYPT", "1", 1);
    if (!middleman()->jobs().enter_as_process()) ::_exit(1);
    ::execlp(MPIX_MPIRUN, MPIX_MPIRUN, "--oversubscribe", "--bind-to", "none", "--mca", "osc", "mpix",
             "--mca", "osc_mpix_interfaces", "10.98.0.0/24", "-np", std::to_string(record_ranks).c_str(),
             MPIX_NETWORK_JOB, window_.port.c_str(), ledger_file().c_str(), std::to_string(rounds).c_str(),
             nullptr);
    ::_exit(127);
  }
  static int exit_code_of(pid_t job) {
    int status = 0;
    EXPECT_EQ(::waitpid(job, &status, 0), job);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  Ledger ledger() const {
    Ledger found;
    std::ifstream(ledger_file(), std::ios::binary).read(reinterpret_cast<char*>(&found), sizeof found);
    return found;
  }
  /// Returns when each rank has completed `more` further rounds.
  void await_rounds(std::uint64_t more) const {
    Ledger const before = ledger();
    EXPECT_TRUE(eventually([&] {
      Ledger const now = ledger();
      for (int rank = 0; rank < record_ranks; ++rank) {
        auto const place = static_cast<std::size_t>(rank);
        if (now.counted[place] < before.counted[place] + more) return false;
      }
      return true;
    })) << job_log();
  }
  std::string job_log() const {
    std::ifstream file(log_file());
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// Expects that the window has the data that were reported complete, and otherwise only data that were in
  /// flight.
  void expect_records() {
    Ledger const done = ledger();
    std::vector<std::uint64_t> words(record_window_bytes / sizeof(std::uint64_t));
    own_->read(window_, 0, 0, std::as_writable_bytes(std::span(words)));
    std::uint64_t counted = 0;
    for (int rank = 0; rank < record_ranks; ++rank) {
      std::uint64_t const round = done.put[static_cast<std::size_t>(rank)];
      counted += done.counted[static_cast<std::size_t>(rank)];
      for (std::size_t i = 0; i < record_words; ++i) {
        std::uint64_t const word = words[static_cast<std::size_t>(rank) * record_words + i];
        bool const is_known = word == stamp_of(rank, round) || word == stamp_of(rank, round + 1);
        ASSERT_TRUE(is_known) << "rank " << rank << ", round " << round << ": word " << i << " is "
                              << std::hex << word << "\n"
                              << job_log();
      }
    }
    EXPECT_GE(words.back(), counted);
    EXPECT_LE(words.back(), counted + record_ranks);
  }
  /// Expects that others can lock the window, and that a job without an attacker completes all of its rounds.
  void expect_service() {
    EXPECT_TRUE(eventually([&] { return try_lock(*own_, window_, engine::LockMode::exclusive); }));
    own_->unlock_soon(window_, 1, 0);
    EXPECT_EQ(server_.data_process(grant_), process_);
    EXPECT_EQ(exit_code_of(start_job(3)), 0) << job_log();
    EXPECT_EQ(ledger().counted, (std::array<std::uint64_t, record_ranks>{3, 3}));
    expect_records();
  }

  /// Runs a job whose packets pass through `meddle` from the beginning, and expects that it completes all of
  /// its rounds.
  void expect_success_despite(Middleman::Meddle const& meddle, int rounds) {
    middleman()->meddle(meddle);
    EXPECT_EQ(exit_code_of(start_job(rounds)), 0) << job_log();
    middleman()->meddle({});
    expect_records();
    expect_service();
  }
  /// Runs a job that does not end, meddles with its packets, and expects that it fails.
  void expect_failure_by(Middleman::Meddle const& meddle) {
    pid_t const job = start_job(endless);
    await_rounds(3);
    middleman()->meddle(meddle);
    EXPECT_EQ(exit_code_of(job), job_failed) << job_log();
    middleman()->meddle({});
    expect_records();
    expect_service();
  }

  std::uint64_t counter() {
    std::uint64_t value = 0;
    own_->read(window_, 0, record_ranks * record_bytes, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  /// Sends `bytes` on a new connection, as another user of the job's host can, and waits at most 300 ms for
  /// an answer or the end of the connection.
  static void send_from_job_host(std::uint16_t port, Bytes const& bytes) {
    std::thread([&] {
      EXPECT_TRUE(middleman()->jobs().enter());
      FileDescriptor const socket = connect_tcp(Middleman::server_host, port, 5000);
      if (!socket) return;  // nobody listens there any more
      send_all(socket, bytes);
      pollfd entry{socket.get(), POLLIN, 0};
      (void)::poll(&entry, 1, 300);
    }).join();
  }

  /// Returns the part of the packet's data whose change must be noticed: all data of the session's
  /// connection, but only the engine's encrypted headers in a connection of UCX, whose own headers are not
  /// authenticated.
  std::span<std::byte const> authenticated(Packet const& packet) const {
    if (!is_data(packet)) return {};
    std::span<std::byte const> const data = packet.payload();
    if (GetParam() == Path::requests) return data;
    std::uint32_t const magic = engine::wire::magic;
    auto const first = std::as_bytes(std::span(&magic, 1));
    auto const found = std::search(data.begin(), data.end(), first.begin(), first.end());
    std::size_t const begin =
        static_cast<std::size_t>(found - data.begin()) + sizeof(engine::wire::SealedHeader);
    constexpr std::size_t bytes = sizeof(engine::wire::SealedInnerHeader) + engine::wire::seal_tag_bytes;
    return begin + bytes <= data.size() ? data.subspan(begin, bytes) : std::span<std::byte const>();
  }

  bool is_control(Packet const& packet) const { return packet.is_tcp() && packet.has_port(control_port_); }
  /// Whether the packet has data of windows.
  bool is_data(Packet const& packet) const {
    return !packet.payload().empty() && is_control(packet) == (GetParam() == Path::requests);
  }
  bool chance(double probability) { return std::uniform_real_distribution<double>()(random_) < probability; }

  TestServer server_;
  Locator grant_;
  std::uint16_t control_port_ = 0;
  std::optional<Session> own_;
  WindowInfo window_;
  pid_t process_ = 0;
  std::mt19937_64 random_{test::seed()};

 private:
  std::string ledger_file() const { return (server_.directory() / "ledger").string(); }
  std::string log_file() const { return (server_.directory() / "job").string(); }
  std::string secret_file_of_job() const { return (server_.directory() / "job-secret" / "secret").string(); }
  void make_secret() const {
    uid_t const user = GetParam() == Path::requests ? nobody : 0;
    ASSERT_TRUE(as_user(user, [&] { return server_.ask({{"op", "secret"}}).contains("secret"); }));
    write_secret(secret_file_of_job(), *read_secret(server_.state / "secrets" / std::to_string(user)));
  }
};

INSTANTIATE_TEST_SUITE_P(Paths, ManInTheMiddle, testing::Values(Path::port, Path::encrypted, Path::requests),
                         name_of);

TEST_P(ManInTheMiddle, JobSurvivesLossDelayRepetitionAndReorder) {
  expect_success_despite(
      [this](Packet const& packet, bool) -> Sents {
        if (!packet.is_tcp()) return {{packet}};
        if (chance(0.02)) return {};
        std::chrono::milliseconds const delay(chance(0.1) ? random_() % 5 : 0);
        if (chance(0.05)) return {{packet, delay}, {packet, delay + std::chrono::milliseconds(1)}};
        return {{packet, delay}};
      },
      10);
}

TEST_P(ManInTheMiddle, JobSurvivesTruncatedPackets) {
  expect_success_despite(
      [this](Packet const& packet, bool) -> Sents {
        if (packet.payload().size() < 2 || !chance(0.05)) return {{packet}};
        return {{packet.with_payload(packet.payload().first(packet.payload().size() / 2))}};
      },
      10);
}

/// Changes one authenticated bit of the data.
TEST_P(ManInTheMiddle, ChangedDataEndTheJob) {
  if (GetParam() == Path::port) GTEST_SKIP() << "data are not authenticated";
  bool const in_answers = chance(0.5);
  expect_failure_by([=, this](Packet const& packet, bool from_job) -> Sents {
    std::span<std::byte const> const data = authenticated(packet);
    if (data.empty() || from_job == in_answers) return {{packet}};
    Bytes changed(packet.payload().begin(), packet.payload().end());
    auto const at = static_cast<std::size_t>(data.data() - packet.payload().data()) + random_() % data.size();
    changed[at] ^= std::byte{1} << random_() % 8;
    return {{packet.with_payload(changed)}};
  });
}

/// The forged data come before the genuine ones, which TCP then takes for a repetition.
TEST_P(ManInTheMiddle, InjectedDataEndTheJob) {
  if (GetParam() == Path::port) GTEST_SKIP() << "data are not authenticated";
  expect_failure_by([this](Packet const& packet, bool) -> Sents {
    std::span<std::byte const> const data = authenticated(packet);
    if (data.empty()) return {{packet}};
    Bytes forged(packet.payload().begin(), packet.payload().end());
    auto const begin = static_cast<std::size_t>(data.data() - packet.payload().data());
    std::generate_n(forged.begin() + static_cast<std::ptrdiff_t>(begin), data.size(),
                    [this] { return static_cast<std::byte>(random_()); });
    return {{packet.with_payload(forged)}, {packet}};
  });
}

/// A user of the job's host has read all that the job sent, and sends it to the same ports, before and after
/// the job's end.
TEST_P(ManInTheMiddle, RepeatedConnectionsHaveNoEffect) {
  std::mutex mutex;
  std::map<std::pair<std::uint16_t, std::uint16_t>, Bytes> streams;  // by the job's port and the server's
  middleman()->meddle([&](Packet const& packet, bool from_job) -> Sents {
    if (from_job && !packet.payload().empty()) {
      std::lock_guard const held(mutex);
      Bytes& stream = streams[{packet.source(), packet.destination()}];
      stream.insert(stream.end(), packet.payload().begin(), packet.payload().end());
    }
    return {{packet}};
  });
  auto const repeat_all = [&] {
    decltype(streams) read;
    {
      std::lock_guard const held(mutex);
      read = streams;
    }
    for (auto const& [ports, stream] : read) send_from_job_host(ports.second, stream);
    return read.size();
  };
  pid_t const job = start_job(60);
  await_rounds(5);
  EXPECT_GE(repeat_all(), 2u);
  EXPECT_EQ(exit_code_of(job), 0) << job_log();
  (void)repeat_all();
  middleman()->meddle({});
  expect_records();
  EXPECT_EQ(counter(), 60u * record_ranks);
  expect_service();
}

TEST_P(ManInTheMiddle, ResetConnectionsEndTheJob) {
  expect_failure_by([this](Packet const& packet, bool) -> Sents {
    if (!is_data(packet)) return {{packet}};
    return {{packet.reset()}};
  });
}

TEST_P(ManInTheMiddle, SilenceEndsTheJob) {
  expect_failure_by([](Packet const&, bool) -> Sents { return {}; });
}

TEST_P(ManInTheMiddle, SilenceOfTheDataPathEndsTheJob) {
  expect_failure_by([this](Packet const& packet, bool) -> Sents {
    if (packet.is_tcp() && is_control(packet) != (GetParam() == Path::requests)) return {{packet}};
    return {};
  });
}

}  // namespace
}  // namespace mpixrma::nam
