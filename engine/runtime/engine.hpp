/// The one-sided engine of a process in the job: peers, segments and protocols behind one object.
///
/// Thread-safe throughout. Operations complete at the target without any action of the application there. The
/// engine handles bytes, layouts and processes; attributes, ranks and communicators belong to the layers
/// above.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "engine/base/bootstrap.h"
#include "engine/base/config.h"
#include "engine/base/visibility.h"
#include "engine/net/address.hpp"
#include "engine/op/late_error.hpp"
#include "engine/op/operation.hpp"
#include "engine/op/run_operation.hpp"
#include "engine/origin/peer.hpp"
#include "engine/runtime/counters.hpp"
#include "engine/runtime/exposures.hpp"
#include "engine/runtime/failures.hpp"
#include "engine/runtime/locks.hpp"
#include "engine/runtime/order.hpp"
#include "engine/runtime/own_memory.hpp"
#include "engine/runtime/peer_memory.hpp"
#include "engine/runtime/peers.hpp"
#include "engine/runtime/stripe_locks.hpp"
#include "engine/runtime/traffic.hpp"
#include "engine/runtime/waits.hpp"
#include "engine/trace/recorder.hpp"

/// The type of an engine in the C interface.
struct mpix_engine {};

namespace mpixrma::engine {

/// The parts of the engine, each of which uses only parts declared before it, and the operations.
class MPIX_ENGINE_API Engine : public mpix_engine {
 public:
  /// All fields of `config` are set (see mpix_engine_create). The memory that the arguments point to must
  /// stay valid.
  Engine(mpix_engine_config const& config, mpix_bootstrap const& bootstrap);
  ~Engine();
  Engine(Engine const&) = delete;
  Engine& operator=(Engine const&) = delete;

  EngineWaits waits;
  EnginePeers peers;
  EngineOrder order;
  EngineFailures failures;
  EngineStripes stripes;
  EngineLocks locks;
  EngineMemory memory;
  EngineExposures exposures;
  EnginePeerMemory peer_memory;
  EngineCounters counters;
  EngineTraffic traffic;

  /// Opens everything, starts the agents and publishes the address. Called once, after construction.
  Status start();

  /// Whether the engine was created in this process, and not before a fork().
  bool is_of_this_process() const noexcept;
  std::uint64_t process() const noexcept;
  /// The identity of the host, equal in all processes that may share memory with this one.
  HostIdentity const& host() const noexcept;
  /// Whether callers must verify the memory that programs declare communicatable.
  bool is_checking() const noexcept;

  /// The blob with the address and the secret, by which other processes connect to this one.
  std::span<std::byte const> address() const noexcept;

  /// Starts an operation. Arrays and layouts that `operation` refers to may be reused when the call
  /// returns; the origin and result buffers when the operation is complete.
  Issued issue(Peer& peer, RmaOp const& operation);
  /// The fast path of issue(): appends the operation to the open batch to the peer, if the last operation in
  /// this batch is like it. The elements of an update are whole, and the operation is defined for them.
  /// Returns Issued::sequence; 0: the operation cannot be appended, and nothing is done.
  std::uint64_t continue_run(Peer& peer, RunOperation const& operation);

  /// Waits until all issued operations are complete, and returns all unreported failures.
  UnreportedFailures complete_everything();

  /// Calls `body` while no thread of this process is sending a message. A process that is killed while it
  /// sends may block all messages of its host to the receiver in UCX's shared memory; so tests end processes
  /// in `body`.
  void between_sends(std::function<void()> const& body);

  /// Makes every operation call issue(): Peer::translate returns nullptr from here on. Must be called before
  /// the first operation; otherwise some operations still bypass issue().
  void issue_all() noexcept;
  bool issues_all() const noexcept;

  /// Counts operations by load and store in the traffic too, for which it calls issue_all().
  void count_direct() noexcept;
  bool counts_direct() const noexcept;

  /// The recorder to which callers add the operations that they execute by load and store
  /// (Peer::translate_traced). Null if no trace is written, or if all operations must call issue() anyway.
  Recorder* direct_recorder() const noexcept { return direct_recorder_; }

 private:
  friend class Dispatch;

  explicit Engine(std::unique_ptr<EngineState> state);
  Issued notify(Peer& peer, RmaOp const& done);

  std::unique_ptr<EngineState> state_;
  Recorder* direct_recorder_ = nullptr;
};

}  // namespace mpixrma::engine
