/// Describes the state of a process for mpix-rma ps: its waits, and the waits of others for it. Called by the
/// agent while other threads may hang: no lock of the peers or of a channel is waited for longer than
/// `lock_timeout`. The other locks are held briefly only.
#include <chrono>
#include <mutex>
#include <string>
#include <thread>

#include "engine/base/text.hpp"
#include "engine/base/version.h"
#include "engine/proto/describe.hpp"
#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds lock_timeout{500};
constexpr std::size_t max_bytes = 48 * 1024;  // less than a socket buffers

template <typename Lockable>
std::unique_lock<Lockable> lock_with_timeout(Lockable& lock) {
  auto const end = std::chrono::steady_clock::now() + lock_timeout;
  std::unique_lock<Lockable> held(lock, std::try_to_lock);
  while (!held.owns_lock() && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(1));
    (void)held.try_lock();
  }
  return held;
}

void describe_traffic(Peer& peer, bool counts_direct, BoundedText& text) {
  Traffic const traffic = peer.state().traffic.read();
  bool const shares_memory = peer.state().shares_memory;
  text.add("  process %s%s%s: operations", text.name(peer.process()).c_str(),
           shares_memory ? ", same host" : ", other host", peer.is_lost() ? ", lost" : "");
  for (std::size_t protocol = 0; protocol < protocol_count; ++protocol) {
    bool const counted =
        Protocol{static_cast<std::uint8_t>(protocol)} != Protocol::direct || counts_direct || !shares_memory;
    std::string const count = counted ? std::to_string(traffic.operations[protocol]) : "not counted";
    text.add("%s %s %s", protocol == 0 ? "" : ",", protocol_names[protocol], count.c_str());
  }
  text.add("\n");
}

}  // namespace

std::string EngineState::inspect() {
  BoundedText text(max_bytes, bootstrap.process);
  text.add("engine of process %s (pid %d), library version %s\n", text.name(bootstrap.process).c_str(),
           static_cast<int>(pid), mpix_engine_version());
  auto const listed = lock_with_timeout(peers.lock);
  if (!listed.owns_lock()) text.add("the table of peers is locked by a thread that makes no progress\n");
  std::size_t number = 0;
  channels.for_each([&](Channel& channel) {
    auto const held = lock_with_timeout(channel.lock);
    if (!held.owns_lock()) {
      text.add("channel %zu is locked by a thread that makes no progress; its operations are not shown\n",
               number++);
      return;
    }
    ++number;
    text.add("outstanding operations:\n");
    if (listed.owns_lock()) {
      peers.for_each([&](Peer& peer) {
        if (&channel_of(peer) == &channel) describe_outstanding(peer, text);
      });
    }
    channel.message_protocol.tracked.describe_lock_requests(text);
    text.add("requests of other processes that wait here:\n");
    channel.executor.describe_waiting(text);
  });
  text.add("locks of this process:\n");
  locks.describe(text);
  text.add("counters that are waited for:\n");
  watches.describe(text);
  if (listed.owns_lock()) {
    text.add("operations so far:\n");
    bool const counted = counts_direct.load(std::memory_order_relaxed);
    peers.for_each([&](Peer& peer) { describe_traffic(peer, counted, text); });
  }
  return text.str();
}

}  // namespace mpixrma::engine
