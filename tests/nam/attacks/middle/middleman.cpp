#include "tests/nam/attacks/middle/middleman.hpp"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netpacket/packet.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace mpixrma::nam {

namespace {

using engine::FileDescriptor;

constexpr std::size_t largest_frame = 65536;

/// Opens a device of the calling thread's host.
FileDescriptor open_device(char const* name) {
  FileDescriptor made(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ALL)));
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(ETH_P_ALL);
  address.sll_ifindex = static_cast<int>(::if_nametoindex(name));
  int const bytes = 32 << 20;
  bool const good = made && address.sll_ifindex != 0 &&
                    ::setsockopt(made.get(), SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) == 0 &&
                    ::bind(made.get(), reinterpret_cast<sockaddr const*>(&address), sizeof address) == 0;
  return good ? std::move(made) : FileDescriptor();
}

/// Makes the device send packets as they are on a wire: with checksums, and not larger than its MTU.
bool disable_offloads(char const* name) {
  FileDescriptor const socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (std::uint32_t const command : {ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO}) {
    ethtool_value off{command, 0};
    ifreq request{};
    std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    request.ifr_data = reinterpret_cast<char*>(&off);
    if (::ioctl(socket.get(), SIOCETHTOOL, &request) != 0 && command == ETHTOOL_STXCSUM) return false;
  }
  return true;
}

/// Returns a command that waits until the device can send: UCX ignores a device that cannot.
std::string wait_for(std::string const& device) {
  return "for i in $(seq 200); do ip link show " + device +
         " | grep -q LOWER_UP && exit 0; sleep 0.05; done; exit 1";
}

/// Runs `body` in a thread on the host.
template <typename Body>
bool on_host(NetworkHost const& host, Body body) {
  bool good = false;
  std::thread([&] { good = host.enter() && body(); }).join();
  return good;
}

}  // namespace

std::unique_ptr<Middleman> Middleman::make() {
  std::unique_ptr<Middleman> made(new Middleman);
  if (!become_host()) return nullptr;
  made->between_ = NetworkHost::make();
  made->jobs_ = NetworkHost::make();
  if (!made->between_ || !made->jobs_ || !made->connect_hosts()) return nullptr;
  FileDescriptor to_server;
  FileDescriptor to_jobs;
  bool const has_devices = on_host(*made->between_, [&] {
    to_server = open_device("toserver");
    to_jobs = open_device("tojobs");
    return to_server && to_jobs;
  });
  if (!has_devices) return nullptr;
  made->thread_ = std::thread([self = made.get(), server = std::move(to_server), jobs = std::move(to_jobs)] {
    self->run(server, jobs);
  });
  return made;
}

Middleman::~Middleman() {
  stopping_ = true;
  if (thread_.joinable()) thread_.join();
}

bool Middleman::connect_hosts() const {
  std::string const between = std::to_string(between_->keeper());
  // Connections end after a few seconds without acknowledgement, rather than after 15 minutes.
  std::string const few_retries = "sysctl -w net.ipv4.tcp_retries2=5";
  return run_command("ip link add server type veth peer name toserver netns " + between) &&
         jobs_->run("ip link add jobs type veth peer name tojobs netns " + between) &&
         between_->run("ip link set toserver up") && between_->run("ip link set tojobs up") &&
         run_command("ip addr add " + std::string(server_host) + "/24 dev server") &&
         jobs_->run("ip addr add " + std::string(job_host) + "/24 dev jobs") &&
         run_command("ip link set server up") && jobs_->run("ip link set jobs up") &&
         disable_offloads("server") && on_host(*jobs_, [] { return disable_offloads("jobs"); }) &&
         run_command(few_retries) && jobs_->run(few_retries) && run_command(wait_for("server")) &&
         jobs_->run("sh -c '" + wait_for("jobs") + "'");
}

void Middleman::meddle(Meddle meddle) {
  std::lock_guard const held(mutex_);
  meddle_ = std::move(meddle);
}

void Middleman::run(FileDescriptor const& to_server, FileDescriptor const& to_jobs) {
  while (!stopping_) {
    pollfd entries[2] = {{to_server.get(), POLLIN, 0}, {to_jobs.get(), POLLIN, 0}};
    (void)::poll(entries, 2, send_due());
    if (entries[0].revents != 0) take(to_server, to_jobs, false);
    if (entries[1].revents != 0) take(to_jobs, to_server, true);
  }
}

/// Sends the packets that are due. Returns in how many milliseconds the next one is due, at most 20.
int Middleman::send_due() {
  auto const now = Clock::now();
  auto const end = waiting_.upper_bound(now);
  std::for_each(waiting_.begin(), end, [](auto const& entry) {
    std::vector<std::byte> const& frame = entry.second.packet.frame();
    (void)::send(entry.second.socket, frame.data(), frame.size(), 0);
  });
  waiting_.erase(waiting_.begin(), end);
  if (waiting_.empty()) return 20;
  auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(waiting_.begin()->first - now);
  return static_cast<int>(std::min<std::int64_t>(left.count() + 1, 20));
}

void Middleman::take(FileDescriptor const& from, FileDescriptor const& to, bool from_job) {
  std::lock_guard const held(mutex_);
  std::vector<std::byte> frame(largest_frame);
  for (;;) {
    sockaddr_ll sender{};
    socklen_t length = sizeof sender;
    ssize_t const got =
        ::recvfrom(from.get(), frame.data(), frame.size(), 0, reinterpret_cast<sockaddr*>(&sender), &length);
    if (got <= 0) return;
    if (sender.sll_pkttype == PACKET_OUTGOING) continue;
    Packet const packet(std::vector<std::byte>(frame.begin(), frame.begin() + got));
    if (!meddle_) {
      (void)::send(to.get(), packet.frame().data(), packet.frame().size(), 0);
      continue;
    }
    auto const now = Clock::now();
    for (Sent& sent : meddle_(packet, from_job))
      waiting_.emplace(now + sent.delay, Waiting{std::move(sent.packet), to.get()});
    (void)send_due();
  }
}

}  // namespace mpixrma::nam
