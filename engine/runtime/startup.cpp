/// EngineState: the start of an engine.
#include <mutex>
#include <optional>

#include "engine/base/failed_call.hpp"
#include "engine/memory/numa.hpp"
#include "engine/runtime/state.hpp"

namespace mpixrma::engine {

Status EngineState::start() {
  copy_decisions.open(config);
  if (Status const status = open_memory(); failed(status)) return status;
  if (Status const status = prepare_ucx(); failed(status)) return status;
  open_device_memory();
  if (bootstrap.exit_fd != nullptr && bootstrap.next_exited != nullptr)
    channels.front().agent.watch_fd(bootstrap.exit_fd(bootstrap.context), [this] { handle_exits(); });
  inspection.open();
  channels.front().agent.serve(inspection.fd(), [this] { inspection.reply([this] { return inspect(); }); });
  if (Status const status = channels.start(); failed(status)) return status;
  if (bootstrap.publish(bootstrap.context, publication.data(), publication.size()) == 0) return Status::ok;
  log.write(LogLevel::error, "the address cannot be published");
  return Status::transport;
}

Status EngineState::open_memory() {
  std::size_t const idle_bytes =
      config.idle_memory_bytes == MPIX_ENGINE_KEEP_NOTHING ? 0 : config.idle_memory_bytes;
  auto* const stripes = static_cast<StripeTable*>(config.stripes);
  if (config.numa_memory != 0) {
    if (std::optional<NumaNode> const node = node_of_thread(log)) segments.set_node(node->number);
  }
  Status const status = segments.open(bootstrap.process, config.heap_bytes, idle_bytes, stripes);
  if (failed(status)) {
    log.write(LogLevel::error, "no shared memory for the tables of segments: %s",
              text_of_failure(status).c_str());
    return status;
  }
  locks.open(segments.control().shared, segments.control().lock_clock);
  return Status::ok;
}

void EngineState::open_device_memory() {
  device_memory.open(channels.context().get());
  if (char const* const kind = device_memory.known_kind())
    log.write(LogLevel::life, "memory of a device is looked for: UCX knows %s", kind);
  // Engine::issue() checks whether an origin is device memory.
  if (device_memory.is_possible()) issues_all.store(true, std::memory_order_relaxed);
}

/// Without memory, the agent calls this function again. The bootstrap names each process once.
void EngineState::handle_exits() {
  std::uint64_t next = 0;
  while (exited_ || bootstrap.next_exited(bootstrap.context, &next) == 0) {
    if (!exited_) exited_ = next;
    channels.for_each([&](Channel& channel) {
      std::lock_guard const held(channel.lock);
      channel.fail_connection(*exited_);
    });
    exited_.reset();
  }
}

}  // namespace mpixrma::engine
