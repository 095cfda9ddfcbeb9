/// "mpix-rma ps" prints what a process says about itself: its name, its arguments, and the answer of a
/// socket. The process's user chooses all of these, and any user can bind the name of the socket. Wrong
/// arguments of the command are errors of one line.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>

namespace {

/// A process that runs `body`, which reports on descriptor `ready` that it is ready and does not return.
class Process {
 public:
  explicit Process(std::function<void(int ready)> const& body) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe(ends), 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      (void)::prctl(PR_SET_PDEATHSIG, SIGKILL);
      body(ends[1]);
      ::_exit(1);
    }
    ::close(ends[1]);
    char ignored = 0;
    EXPECT_EQ(::read(ends[0], &ignored, 1), 1);
    ::close(ends[0]);
  }
  ~Process() {
    (void)::kill(pid_, SIGKILL);
    (void)::waitpid(pid_, nullptr, 0);
  }
  Process(Process const&) = delete;
  Process& operator=(Process const&) = delete;
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = -1;
};

/// Listens at the name of the engine's socket of process `pid`, and answers each connection by `answer`.
[[noreturn]] void listen_as(pid_t pid, int ready, std::function<void(int connection)> const& answer) {
  int const socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  int const length = std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "mpix-rma/%d/0",
                                   static_cast<int>(pid));
  auto const bytes =
      static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(length));
  bool const listens = ::bind(socket, reinterpret_cast<sockaddr const*>(&address), bytes) == 0 &&
                       ::listen(socket, 4) == 0 && ::write(ready, "x", 1) == 1;
  while (listens) {
    int const connection = ::accept(socket, nullptr, nullptr);
    answer(connection);
    ::close(connection);
  }
  ::_exit(1);
}

void send_text(int connection, std::string const& text) {
  (void)!::send(connection, text.data(), text.size(), MSG_NOSIGNAL);
}

struct View {
  int exit_code = -1;
  std::string output;
};

View view_of_command(std::string const& arguments) {
  std::string const line = MPIX_RMA_TOOL " " + arguments + " 2>&1";
  View view;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(line.c_str(), "r"), ::pclose);
  std::array<char, 4096> piece{};
  while (std::size_t const got = std::fread(piece.data(), 1, piece.size(), pipe.get()))
    view.output.append(piece.data(), got);
  int const status = ::pclose(pipe.release());
  view.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return view;
}

View view_of(pid_t pid) { return view_of_command("ps " + std::to_string(pid)); }

TEST(ProcessView, FiltersControlCharacters) {
  Process const process([](int ready) {
    (void)::prctl(PR_SET_NAME, "a\x1b[31mb");
    listen_as(::getpid(), ready, [](int connection) {
      send_text(connection,
                "library version 0\n\x1b]0;title\x07 \xc2\x9b"
                "31m the\tend\r\n");
    });
  });
  View const view = view_of(process.pid());
  EXPECT_EQ(view.exit_code, 0) << view.output;
  EXPECT_NE(view.output.find("the\tend"), std::string::npos) << view.output;
  EXPECT_NE(view.output.find("a?[31mb"), std::string::npos) << view.output;
  for (char const* const control : {"\x1b", "\x07", "\x9b", "\r"})
    EXPECT_EQ(view.output.find(control), std::string::npos) << view.output;
}

TEST(ProcessView, BoundsSizeOfReply) {
  Process const process([](int ready) {
    listen_as(::getpid(), ready, [](int connection) {
      std::string const text(1u << 16, 'x');
      while (::send(connection, text.data(), text.size(), MSG_NOSIGNAL) > 0) {
      }
    });
  });
  View const view = view_of(process.pid());
  EXPECT_EQ(view.exit_code, 0);
  EXPECT_LT(view.output.size(), 2u << 20);
}

TEST(ProcessView, RejectsSocketOfAnotherUser) {
  constexpr uid_t user = 64001;
  constexpr uid_t attacker = 64003;
  if (::geteuid() != 0) GTEST_SKIP() << "needs other users";
  Process const process([](int ready) {
    if (::setuid(user) != 0 || ::write(ready, "x", 1) != 1) return;
    ::pause();
  });
  Process const other([&](int ready) {
    if (::setuid(attacker) != 0) return;
    listen_as(process.pid(), ready,
              [](int connection) { send_text(connection, "library version 0\nall is well\n"); });
  });
  View const view = view_of(process.pid());
  EXPECT_NE(view.exit_code, 0);
  EXPECT_EQ(view.output.find("all is well"), std::string::npos) << view.output;
}

TEST(Usage, NamesTheWrongArgumentInOneLine) {
  for (std::string const argument : {"abc", "0", "-1", "7x", "99999999999"}) {
    View const view = view_of_command("ps " + argument);
    EXPECT_EQ(view.exit_code, 2);
    EXPECT_TRUE(view.output.starts_with("pid: \"" + argument + "\" is not a process id\n")) << view.output;
  }
  View const view = view_of_command("env --shell powershell");
  EXPECT_EQ(view.exit_code, 2);
  EXPECT_TRUE(view.output.starts_with("--shell: \"powershell\" is none of sh, bash,")) << view.output;
}

TEST(Usage, AcceptsTheNamesOfShells) {
  std::string const posix = view_of_command("env").output;
  std::string const csh = view_of_command("env --shell csh").output;
  EXPECT_NE(posix, csh);
  for (char const* const shell : {"sh", "bash", "dash", "ksh", "zsh"})
    EXPECT_EQ(view_of_command(std::string("env --shell ") + shell).output, posix) << shell;
  EXPECT_EQ(view_of_command("env --shell tcsh").output, csh);
}

}  // namespace
