/// An engine like those of job processes, and operations that wait for their completion.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/op/statistics.hpp"
#include "engine/origin/peer_state.hpp"
#include "engine/runtime/c_handles.hpp"
#include "engine/runtime/mpix_engine.h"

namespace mpixrma::nam {

enum class Rdma { never, emulated };

/// An engine of a job of its own: the engines of different jobs have the same identity.
class JobEngine {
 public:
  explicit JobEngine(Rdma rdma = Rdma::never) {
    bootstrap_.size = sizeof bootstrap_;
    bootstrap_.process = 1;
    bootstrap_.publish = [](void*, void const*, std::size_t) { return 0; };
    bootstrap_.peer_address = [](void*, std::uint64_t, void const**, std::size_t*) { return -1; };
    mpix_engine_config config;
    mpix_engine_config_init(&config);
    config.interfaces = "lo";
    config.network_without_hardware = rdma == Rdma::emulated ? 1 : 0;
    EXPECT_EQ(mpix_engine_create(&config, &bootstrap_, &engine_), 0);
  }
  ~JobEngine() { mpix_engine_destroy(engine_); }
  JobEngine(JobEngine const&) = delete;
  JobEngine& operator=(JobEngine const&) = delete;

  void connect(std::vector<std::byte> const& address) {
    peer_ = mpix_engine_find_peer_at(engine_, address.data(), address.size());
    ASSERT_NE(peer_, nullptr);
  }
  mpix_engine_t* engine() const { return engine_; }
  mpix_engine_peer_t* peer() const { return peer_; }
  /// Returns the number of operations by UCX put and get.
  std::uint64_t remote_accesses() const {
    mpix_engine_traffic traffic{};
    mpix_engine_read_traffic(engine_, &traffic);
    return traffic.operations[static_cast<int>(engine::Protocol::network)];
  }

  /// Repeats a get until operations on the exposure use UCX put and get: the exposure's owner creates the
  /// remote key at the first request for it.
  void await_key(std::uint64_t exposure) {
    std::byte byte{};
    for (std::uint64_t const before = remote_accesses(); remote_accesses() == before;)
      ASSERT_EQ(get(exposure, 0, {&byte, 1}), MPIX_ENGINE_OK);
  }

  /// Returns the number of the key of the peer's only segment; 0 if there is none.
  std::uint64_t key_number() const {
    auto const* const known = engine::peer_of(peer_).state().keys_if_any();
    return known == nullptr || known->keys.empty() ? 0 : known->keys.begin()->second.number;
  }

  // Each returns the engine's status of the completed operation.
  int put(std::uint64_t exposure, std::uint64_t at, std::span<std::byte const> from) {
    auto transfer = describe(exposure, at, const_cast<std::byte*>(from.data()), from.size());
    return complete(transfer, mpix_engine_put);
  }
  int get(std::uint64_t exposure, std::uint64_t at, std::span<std::byte> into) {
    auto transfer = describe(exposure, at, into.data(), into.size());
    return complete(transfer, mpix_engine_get);
  }
  /// Returns nothing if the operation is not complete after this number of milliseconds.
  std::optional<int> put_within(int milliseconds, std::uint64_t exposure, std::uint64_t at,
                                std::span<std::byte const> from) {
    auto transfer = describe(exposure, at, const_cast<std::byte*>(from.data()), from.size());
    late_.completion.done = tell;
    transfer.flags = MPIX_ENGINE_REMOTE_COMPLETION;
    transfer.completion = &late_.completion;
    mpix_engine_issued issued{};
    int const status = mpix_engine_put(engine_, peer_, &transfer, &issued);
    if (status != 0 || issued.complete != 0) return status;
    for (int waited = 0; waited < milliseconds && !late_.told; ++waited) {
      (void)mpix_engine_progress(engine_);
      ::usleep(1000);
    }
    return late_.told ? std::optional(late_.status) : std::nullopt;
  }
  /// Issues a put whose completion nothing but complete_all() reports.
  int issue_put(std::uint64_t exposure, std::uint64_t at, std::span<std::byte const> from) {
    auto transfer = describe(exposure, at, const_cast<std::byte*>(from.data()), from.size());
    transfer.context = context;
    mpix_engine_issued issued{};
    return mpix_engine_put(engine_, peer_, &transfer, &issued);
  }
  /// Returns the first failure of operations without a completion object.
  int complete_all() {
    mpix_engine_complete(engine_, peer_, mpix_engine_newest(peer_));
    return mpix_engine_take_error(engine_, peer_, context);
  }
  template <typename Value>
  int add(std::uint64_t exposure, std::uint64_t at, int type, Value value) {
    mpix_engine_update update{};
    update.operation = MPIX_ENGINE_OP_SUM;
    update.type = type;
    update.flags = MPIX_ENGINE_ELEMENT_ATOMIC;
    update.origin = &value;
    update.origin_layout.block = update.target_layout.block = sizeof value;
    update.target = at;
    update.exposure = exposure;
    return complete(update, mpix_engine_issue_update);
  }

 private:
  static constexpr std::uint32_t context = 7;

  struct Waiting {
    mpix_engine_completion completion{};  // first: the engine hands back its address
    std::atomic<bool> told = false;
    int status = 0;
  };

  static void tell(mpix_engine_completion* self, int status, std::size_t) {
    auto* const told = reinterpret_cast<Waiting*>(self);
    told->status = status;
    told->told.store(true, std::memory_order_release);
  }
  static mpix_engine_transfer describe(std::uint64_t exposure, std::uint64_t at, void* origin,
                                       std::size_t bytes) {
    mpix_engine_transfer transfer{};
    transfer.origin = origin;
    transfer.origin_layout.block = transfer.target_layout.block = bytes;
    transfer.target = at;
    transfer.exposure = exposure;
    return transfer;
  }
  template <typename Given, typename Issue>
  int complete(Given& operation, Issue issue) {
    Waiting waiting;
    waiting.completion.done = tell;
    operation.flags |= MPIX_ENGINE_REMOTE_COMPLETION;
    operation.completion = &waiting.completion;
    mpix_engine_issued issued{};
    int const status = issue(engine_, peer_, &operation, &issued);
    if (status != 0 || issued.complete != 0) return status;
    auto const is_told = [](void* waiting_for) {
      return static_cast<Waiting*>(waiting_for)->told.load(std::memory_order_acquire) ? 1 : 0;
    };
    mpix_engine_wait_until(engine_, is_told, &waiting);
    return waiting.status;
  }

  mpix_bootstrap bootstrap_{};
  mpix_engine_t* engine_ = nullptr;
  mpix_engine_peer_t* peer_ = nullptr;
  Waiting late_;  ///< outlives an operation that never ends
};

}  // namespace mpixrma::nam
