/// 32 clients of 4 users on two hosts write to a memory server, while clients and processes of the server are
/// killed and its disk is full now and then. Each acknowledged byte is checked. MPIX_NAM_SOAK_SECONDS (300)
/// is the duration, MPIX_TEST_SEED repeats the choices, though not the timing.
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <map>
#include <random>
#include <string>

#include "nam/protocol/user_secret.hpp"
#include "tests/nam/server_fixture.hpp"
#include "tests/nam/soak/client.hpp"
#include "tests/nam/soak/hosts.hpp"

namespace mpixrma::nam::soak {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

/// Users of every Debian system, which run no other processes here.
constexpr std::array<char const*, user_count> users{"games", "man", "news", "uucp"};
constexpr auto disk_full_for = seconds(10);
constexpr auto disk_full_every = seconds(40);
constexpr int longest_recovery_ms = 120000;

std::uint64_t parameter(char const* name, std::uint64_t otherwise) {
  char const* const given = std::getenv(name);
  return given != nullptr ? std::strtoull(given, nullptr, 10) : otherwise;
}

class Soak : public ::testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) GTEST_SKIP() << "needs other users";
    if (!hosts_.make()) GTEST_SKIP() << "needs network and mount namespaces";
    seed_ = parameter("MPIX_TEST_SEED", std::random_device()());
    std::printf("MPIX_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed_));
    random_.seed(seed_);
    ledger_ = Ledger::make();
    ASSERT_NE(ledger_, nullptr);
    server_.emplace();
    std::filesystem::permissions(server_->directory(), std::filesystem::perms(0755));
    std::filesystem::create_directories(server_->state);
    ASSERT_EQ(::mount("none", server_->state.c_str(), "tmpfs", 0, "size=192m"), 0);
    start_server();
    for (char const* const user : users) prepare(user);
  }

  void TearDown() override {
    if (ledger_ == nullptr) return;
    ledger_->ends = true;
    for (pid_t const client : clients_) reap(client);
    if (!server_) return;
    if (server_->pid() > 0) server_->stop();
    ::umount2(server_->state.c_str(), MNT_DETACH);
  }

  void start_server() {
    server_->start({"--size", "64M", "--storage", "file", "--listen", std::string(server_address) + ":7726",
                    "--log-level", "error", "--max-sessions", "64"});
  }

  /// Makes a grant, a secret, and the windows of the user's clients.
  void prepare(char const* user) {
    Locator const grant = server_->grant(4u << 20, {{"owner", user}});
    grants_.push_back(grant);
    std::size_t const index = grants_.size() - 1;
    auto const as_client = [&] {
      for (std::size_t i = index; i < client_count; i += user_count) {
        Session session = Session::open(grant);
        WindowOptions const options{.persistent = true, .durability = Durability::storage};
        std::string const port = session.allocate({window_bytes}, {1}, options).port;
        ledger_->clients[i].port[port.copy(ledger_->clients[i].port.data(), 511)] = '\0';
      }
      auto const secret = server_->ask({{"op", "secret"}}).at("secret").get<std::string>();
      write_secret(secret_file_of(index), secret_from_hex(secret));
      return true;
    };
    std::filesystem::create_directories(secret_file_of(index).parent_path());
    ASSERT_EQ(::chmod(secret_file_of(index).parent_path().c_str(), 0777), 0);
    ASSERT_TRUE(as_user(uid_of(index), as_client));
  }

  std::filesystem::path secret_file_of(std::size_t index) const {
    return server_->directory() / "secrets" / users[index % user_count];
  }
  static uid_t uid_of(std::size_t index) { return ::getpwnam(users[index % user_count])->pw_uid; }

  /// Half of the clients are on the other host; half of those on the server's host map the memory.
  pid_t start_client(std::size_t number) {
    bool const is_remote = number / user_count % 2 == 1;
    bool const maps = !is_remote && number / user_count % 4 == 0;
    auto const seed = static_cast<unsigned>(random_());
    pid_t const parent = ::getpid();
    pid_t const child = ::fork();
    if (child != 0) return child;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setenv("MPIX_NAM_SECRET_FILE", secret_file_of(number).c_str(), 1);
    ::setenv("MPIX_NAM_USER", users[number % user_count], 1);
    if (is_remote) ::setenv("MPIX_NAM_TCP", "1", 1);
    uid_t const uid = uid_of(number);
    bool const ready = ::getppid() == parent && (!is_remote || hosts_.enter_other()) &&
                       ::setgroups(0, nullptr) == 0 && ::setgid(::getpwuid(uid)->pw_gid) == 0 &&
                       ::setuid(uid) == 0;
    if (!ready) ledger_->fail("client " + std::to_string(number) + " cannot change its user");
    if (ready) run_client(*ledger_, {number, maps, seed});
    ::_exit(0);
  }

  /// Kills the process, and returns when it has closed its connections: on a loaded machine, long after the
  /// signal. Until then a client that maps memory takes the process for alive.
  static void end(pid_t process) {
    engine::FileDescriptor const watched(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
    if (!watched) return;
    ::kill(process, SIGKILL);
    pollfd ended{watched.get(), POLLIN, 0};
    (void)::poll(&ended, 1, longest_recovery_ms);
  }

  static void reap(pid_t process) {
    if (process > 0) ::waitpid(process, nullptr, 0);
  }

  void kill_client() {
    std::size_t const number = random_() % client_count;
    ::kill(clients_[number], SIGKILL);
    reap(clients_[number]);
    clients_[number] = start_client(number);
    ++kills_of_clients_;
  }

  /// Does not kill a data process that a new server has not adopted yet, because that process is the only
  /// holder of the grant's memory.
  void kill_data_process() {
    try {
      Json const grant = server_->show(grants_[random_() % user_count]);
      if (!is_ready(grant)) return;
      auto const process = grant.at("pid").get<pid_t>();
      killed_[grant.at("grant").get<std::string>()] = process;
      end(process);
      ++kills_of_data_;
    } catch (Error const&) {  // the control process is just starting
    }
  }

  /// On a loaded machine the server may not have noticed yet that a killed process has ended.
  bool is_ready(Json const& grant) {
    auto const killed = killed_.find(grant.at("grant").get<std::string>());
    if (killed != killed_.end()) {
      if (killed->second == grant.at("pid").get<pid_t>()) return false;
      killed_.erase(killed);  // a later process may have the same pid
    }
    return grant.at("ready").get<bool>();
  }

  bool all_grants_are_ready() {
    try {
      return std::all_of(grants_.begin(), grants_.end(),
                         [&](Locator const& grant) { return is_ready(server_->show(grant)); });
    } catch (Error const&) {
      return false;
    }
  }

  /// Kills the main process, and the control process with it, unless a data process is starting again: the
  /// main process is then the only holder of the grant's memory.
  void kill_main_process() {
    if (!all_grants_are_ready()) return;
    server_->kill();
    start_server();
    ++kills_of_main_;
  }

  /// Kills all processes of the server, and starts it again: data that were acknowledged and not persisted
  /// may be lost.
  void kill_server() {
    std::vector<pid_t> data;
    try {
      for (Locator const& grant : grants_) data.push_back(server_->data_process(grant));
    } catch (Error const&) {
      return;
    }
    ledger_->deaths++;
    server_->kill();
    for (pid_t const process : data) end(process);
    for (ClientRecord& client : ledger_->clients) {
      for (Block& block : client.blocks) block.forget_unpersisted();
    }
    start_server();
    ledger_->deaths++;
    ++kills_of_server_;
  }

  void disturb() {
    switch (random_() % 20) {
      case 0: return kill_server();
      case 1:
      case 2: return kill_main_process();
      case 3:
      case 4:
      case 5:
      case 6:
      case 7: return kill_data_process();
      default: return kill_client();
    }
  }

  /// Fills the file system of the server's directory, or frees it again.
  void change_disk(bool full) {
    auto const ballast = server_->state / "ballast";
    if (!full) {
      std::filesystem::remove(ballast);
      return;
    }
    engine::FileDescriptor const file(::open(ballast.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    std::vector<char> const zeros(1u << 16);
    while (::write(file.get(), zeros.data(), zeros.size()) > 0) {
    }
    ++full_disks_;
  }

  /// Waits until every client has checked its whole window. Returns false if one has failed or takes too
  /// long.
  bool everything_is_checked() {
    std::uint64_t const round = ++ledger_->round;
    for (int waited = 0; waited < longest_recovery_ms; waited += 20) {
      bool all = true;
      for (ClientRecord const& client : ledger_->clients) all = all && client.last_round == round;
      if (all || ledger_->has_failed) return all;
      std::this_thread::sleep_for(milliseconds(20));
    }
    return false;
  }

  void report() const {
    std::uint64_t writes = 0, persists = 0, checks = 0, refusals = 0;
    for (ClientRecord const& client : ledger_->clients) {
      writes += client.writes;
      persists += client.persists;
      checks += client.checks;
      refusals += client.refusals;
    }
    std::printf(
        "%llu acknowledged writes, %llu acknowledged persists, %llu checked blocks, %llu refused requests\n"
        "killed: %d clients, %d data processes, %d main processes, %d whole servers; %d full disks\n",
        static_cast<unsigned long long>(writes), static_cast<unsigned long long>(persists),
        static_cast<unsigned long long>(checks), static_cast<unsigned long long>(refusals), kills_of_clients_,
        kills_of_data_, kills_of_main_, kills_of_server_, full_disks_);
  }

  std::uint64_t seed_ = 0;
  std::mt19937_64 random_;
  TwoHosts hosts_;
  Ledger* ledger_ = nullptr;
  std::optional<TestServer> server_;
  std::vector<Locator> grants_;
  std::array<pid_t, client_count> clients_{};
  std::map<std::string, pid_t> killed_;  ///< data processes that the server may not have missed yet, by grant
  int kills_of_clients_ = 0;
  int kills_of_data_ = 0;
  int kills_of_main_ = 0;
  int kills_of_server_ = 0;
  int full_disks_ = 0;
};

TEST_F(Soak, KeepsEveryAcknowledgedByte) {
  for (std::size_t i = 0; i < client_count; ++i) clients_[i] = start_client(i);
  auto const begin = Clock::now();
  auto const end = begin + seconds(parameter("MPIX_NAM_SOAK_SECONDS", 300));
  bool is_full = false;
  while (Clock::now() < end && !ledger_->has_failed) {
    std::this_thread::sleep_for(milliseconds(50 + random_() % 450));
    bool const fills =
        (Clock::now() - begin) % disk_full_every < disk_full_for && Clock::now() - begin > disk_full_for;
    if (fills != is_full) change_disk(is_full = fills);
    disturb();
  }
  if (is_full) change_disk(false);
  EXPECT_TRUE(ledger_->has_failed || everything_is_checked())
      << "clients do not come to their windows any more";
  report();
  EXPECT_STREQ(ledger_->failure.data(), "");
  for (ClientRecord const& client : ledger_->clients) EXPECT_GT(client.writes, 0u);
}

}  // namespace
}  // namespace mpixrma::nam::soak
