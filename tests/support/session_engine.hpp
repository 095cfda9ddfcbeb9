/// An engine with sessions, and memory that it exposes to them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <vector>

#include "engine/runtime/c_handles.hpp"
#include "engine/runtime/engine.hpp"
#include "engine/runtime/sessions.h"
#include "tests/support/imposture.hpp"

namespace mpixrma::test {

class SessionEngine {
 public:
  static constexpr std::uint64_t untouched = 0x5eed;

  /// `configure` changes the configuration.
  explicit SessionEngine(std::function<void(mpix_engine_config&)> const& configure, std::size_t words = 8)
      : memory_(words, untouched) {
    bootstrap_.size = sizeof bootstrap_;
    bootstrap_.process = std::uint64_t{0xffff} << 48 | 5;
    bootstrap_.publish = [](void*, void const*, std::size_t) { return 0; };
    bootstrap_.peer_address = [](void*, std::uint64_t, void const**, std::size_t*) { return -1; };
    mpix_engine_config config;
    mpix_engine_config_init(&config);
    config.protocols = MPIX_ENGINE_PROTOCOL_MESSAGE;
    config.channels = 1;
    config.interfaces = "lo";
    config.exposed_only = 1;
    configure(config);
    EXPECT_EQ(mpix_engine_create(&config, &bootstrap_, &engine_), 0);
    unsigned const rights = MPIX_ENGINE_READ | MPIX_ENGINE_WRITE | MPIX_ENGINE_UPDATE;
    EXPECT_EQ(mpix_engine_expose(engine_, memory_.data(), 8 * words, rights, &exposure), 0);
  }
  ~SessionEngine() { mpix_engine_destroy(engine_); }
  SessionEngine(SessionEngine const&) = delete;
  SessionEngine& operator=(SessionEngine const&) = delete;

  struct Session {
    std::uint64_t number = 0;
    std::vector<std::byte> address;
    Target target;
  };
  Session open() {
    Session made;
    auto const take = [](void* context, void const* address, std::size_t length) {
      auto const* const bytes = static_cast<std::byte const*>(address);
      static_cast<std::vector<std::byte>*>(context)->assign(bytes, bytes + length);
    };
    EXPECT_EQ(mpix_engine_open_session(engine_, take, &made.address, &made.number), 0);
    EXPECT_TRUE(engine::read_published(made.address, &made.target.address, &made.target.secret));
    return made;
  }
  int close(Session const& session) { return mpix_engine_close_session(engine_, session.number); }
  int end_of(Session const& session) { return mpix_engine_session_has_ended(engine_, session.number); }
  std::uint64_t dropped() { return engine::engine_of(engine_).traffic.statistics().messages_dropped; }
  /// Loads atomically, because the engine's agent stores to this memory.
  std::uint64_t word(std::size_t index) const {
    return std::atomic_ref(const_cast<std::uint64_t&>(memory_[index])).load();
  }

  std::uint64_t exposure = 0;

 private:
  mpix_bootstrap bootstrap_{};
  mpix_engine_t* engine_ = nullptr;
  std::vector<std::uint64_t> memory_;
};

}  // namespace mpixrma::test
