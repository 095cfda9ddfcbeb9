/// Memory and time of one process's engine as the job grows: peers that it knows and communicates with,
/// origins that communicate with it, segments. The other processes are simulated
/// (bench/support/stub_network.hpp), so UCX's memory per connection is not included; for windows see
/// bench_window_scale. Prints a line for each number of items; bytes and times are per item.
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <vector>

#include "bench/support/lone_engine.hpp"

namespace {

using bench::engine_under_test;
using bench::Meter;
using bench::own_process;
using bench::own_publication;
using bench::run_in_child;
using bench::start_engine;
using mpixrma::engine::Engine;
using mpixrma::engine::Layout;
using mpixrma::engine::OpKind;
using mpixrma::engine::Peer;
using mpixrma::engine::RemoteAddress;
using mpixrma::engine::RmaOp;
namespace wire = mpixrma::engine::wire;

constexpr unsigned operations = 20000;

void put(Peer& peer) {
  static std::uint64_t word = 1;
  RmaOp transfer;
  transfer.kind = OpKind::put;
  transfer.origin = reinterpret_cast<std::byte*>(&word);
  transfer.target = 0x1000;
  transfer.origin_layout = transfer.target_layout = Layout::contiguous(sizeof word);
  Engine& engine = engine_under_test();
  auto const issued = engine.issue(peer, transfer);
  if (mpixrma::engine::failed(issued.status)) std::exit(1);
  engine.order.complete(peer, issued.sequence);
}

void measure_peers(std::size_t count, std::size_t max_endpoints, char const* label) {
  bench::open_stub_network(count);
  start_engine(max_endpoints);
  Engine& engine = engine_under_test();
  std::vector<Peer*> peers(count);
  put(*(peers[0] = engine.peers.find(bench::first_process)));  // one-time costs, not measured
  Meter const making;
  for (std::size_t i = 0; i < count; ++i) peers[i] = engine.peers.find(bench::first_process + i);
  double const made_bytes = making.bytes_each(count);
  double const made_us = making.us_each(count);
  Meter const first;
  for (Peer* const peer : peers) put(*peer);
  double const first_bytes = made_bytes + first.bytes_each(count);
  double const first_us = first.us_each(count);
  std::mt19937 random(1);
  std::vector<std::uint32_t> order(operations);
  for (std::uint32_t& which : order) which = static_cast<std::uint32_t>(random() % count);
  Meter const look_up;
  for (std::uint32_t const which : order)
    engine.peers.release(*engine.peers.find(bench::first_process + which));
  double const look_up_us = look_up.us_each(operations);
  Meter const steady;
  for (std::uint32_t const which : order) put(*peers[which]);
  std::printf("peers,%s,%zu,%.0f,%.2f,%.0f,%.2f,%.3f,%.2f,%zu\n", label, count, made_bytes, made_us,
              first_bytes, first_us, look_up_us, steady.us_each(operations),
              engine.traffic.statistics().endpoints);
}

void wait_for_network() {
  engine_under_test().waits.until([] { return bench::pending_in_stub_network() == 0; });
}

wire::RequestHeader request_of(wire::RequestKind kind, std::size_t bytes) {
  auto header = wire::begin_header<wire::RequestHeader>(kind);
  header.block = header.bytes = header.total = bytes;
  return header;
}

void measure_origins(std::size_t count) {
  bench::open_stub_network(count);
  start_engine(SIZE_MAX);
  Engine& engine = engine_under_test();
  void* memory = nullptr;
  if (mpixrma::engine::failed(engine.memory.allocate(4096, &memory))) std::exit(1);
  std::vector<std::uint64_t> sequences(count);
  std::vector<mpixrma::engine::SessionTokens> sessions(count);
  std::vector<std::byte> const data(sizeof(std::uint64_t));
  auto const introduce = [&](std::size_t origin) {
    std::vector<std::byte> handshake =
        bench::made_up_handshake(static_cast<std::uint32_t>(origin), own_publication, &sessions[origin]);
    wire::RequestHeader const header = request_of(wire::RequestKind::handshake, handshake.size());
    bench::send_to_engine(header, std::move(handshake));
    wait_for_network();
  };
  auto const send_put = [&](std::size_t origin) {
    // The engine closes connections beyond the permitted number, which then need another handshake.
    if (sequences[origin] == 0 || bench::is_disconnected(static_cast<std::uint32_t>(origin)))
      introduce(origin);
    wire::RequestHeader header = request_of(wire::RequestKind::put, data.size());
    header.session = sessions[origin].request;
    header.sequence = ++sequences[origin];
    header.address = reinterpret_cast<RemoteAddress>(memory);
    bench::send_to_engine(header, data);
    wait_for_network();
  };
  send_put(0);
  Meter const first;
  for (std::size_t i = 1; i < count; ++i) send_put(i);
  double const first_bytes = first.bytes_each(count);
  double const first_us = first.us_each(count);
  std::mt19937 random(1);
  Meter const steady;
  for (unsigned i = 0; i < operations; ++i) send_put(random() % count);
  double const steady_us = steady.us_each(operations);
  std::uint64_t const executed = engine.traffic.statistics().traffic.messages_executed;
  if (executed != count + operations) {
    std::fprintf(stderr, "bench_scale: %lu of %zu requests were executed\n", executed, count + operations);
    std::exit(1);
  }
  std::printf("origins,,%zu,%.0f,%.2f,%.2f\n", count, first_bytes, first_us, steady_us);
}

void measure_segments(std::size_t count) {
  constexpr std::size_t spacing = 2 * 4096;
  bench::open_stub_network(1);
  start_engine(0);
  Engine& engine = engine_under_test();
  auto* const memory = static_cast<std::byte*>(
      ::mmap(nullptr, count * spacing, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  Meter const attaching;
  for (std::size_t i = 0; i < count; ++i) {
    if (mpixrma::engine::failed(engine.memory.attach(memory + i * spacing, 4096))) std::exit(1);
  }
  double const bytes = attaching.bytes_each(count);
  double const attach_us = attaching.us_each(count);
  Peer& self = *engine.peers.find(own_process);
  std::mt19937 random(1);
  Meter const looking;
  for (unsigned i = 0; i < operations; ++i) {
    mpixrma::engine::SegmentInfo info{};
    auto const address = reinterpret_cast<RemoteAddress>(memory + random() % count * spacing + 8);
    if (mpixrma::engine::failed(engine.peer_memory.find_segment(self, address, &info))) std::exit(1);
  }
  double const find_us = looking.us_each(operations);
  Meter const detaching;
  for (std::size_t i = 0; i < count; ++i) (void)engine.memory.detach(memory + i * spacing, 4096);
  std::printf("segments,,%zu,%.0f,%.2f,%.3f,%.2f\n", count, bytes, attach_us, find_us,
              detaching.us_each(count));
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t const most = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 100000;
  rlimit const many{1u << 20, 1u << 20};  // so that descriptors do not limit the connections
  (void)::setrlimit(RLIMIT_NOFILE, &many);
  bool right = true;
  std::puts("peers,endpoints,number,known_bytes,known_us,used_bytes,first_us,look_up_us,operation_us,open");
  for (std::size_t count = 10; count <= most; count *= 10)
    right = run_in_child([&] { measure_peers(count, SIZE_MAX, "all"); }) && right;
  for (std::size_t count = 10; count <= most; count *= 10)
    right = run_in_child([&] { measure_peers(count, 0, "limited"); }) && right;
  std::puts("origins,,number,bytes,first_us,request_us");
  for (std::size_t count = 10; count <= most; count *= 10)
    right = run_in_child([&] { measure_origins(count); }) && right;
  std::puts("segments,,number,bytes,attach_us,find_us,detach_us");
  for (std::size_t count = 100; count <= most; count *= 10)
    right = run_in_child([&] { measure_segments(count); }) && right;
  return right ? 0 : 1;
}
