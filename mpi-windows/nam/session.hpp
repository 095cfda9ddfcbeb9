/// Windows at memory servers whose memory this process does not map: locks and other requests to the server
/// go through a session.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "engine/base/kept_from_children.hpp"
#include "mpi-windows/nam/served.hpp"
#include "nam/client/session.hpp"

namespace mpixrma::windows {

/// A session shared by several windows and threads, cached for later windows while it is open.
class NamSession {
 public:
  NamSession(nam::Locator locator, nam::Session session);
  virtual ~NamSession() = default;
  NamSession(NamSession const&) = delete;
  NamSession& operator=(NamSession const&) = delete;

  /// Calls `call` with the session and returns its result.
  template <typename Call>
  auto with_session(Call call) {
    std::lock_guard const held(lock_);
    return call(session_);
  }
  bool is_open() {
    std::lock_guard const held(lock_);
    return session_.is_open();
  }
  /// Locator of the grant.
  nam::Locator const& locator() const noexcept { return locator_; }
  /// Returns a number that distinguishes the lock holders of windows.
  std::uint64_t next_holder() noexcept { return newest_holder_.fetch_add(1, std::memory_order_relaxed); }

 protected:
  int descriptor() const noexcept { return session_.descriptor(); }

 private:
  nam::Locator locator_;
  std::mutex lock_;
  nam::Session session_;
  engine::KeptFromChildren session_kept_{session_.descriptor()};
  std::atomic<std::uint64_t> newest_holder_{1};
};

class SessionNamWindow : public ServedWindow {
 public:
  ~SessionNamWindow() override;

  void describe(NamDescription* description) const override;
  std::uint32_t mapping_id() const noexcept override { return 0; }
  void persist() override;
  bool is_mapped() const noexcept override { return false; }
  bool try_lock(int rank, engine::LockMode mode, bool* has_turn) const override;
  void unlock(int rank) const noexcept override;

 protected:
  SessionNamWindow(std::shared_ptr<NamSession> session, nam::WindowInfo info)
      : ServedWindow(std::move(info)), session_(std::move(session)), holder_(session_->next_holder()) {}
  NamSession& session() const noexcept { return *session_; }

 private:
  template <typename Call>
  void ignoring_errors(Call call) const noexcept;

  std::shared_ptr<NamSession> session_;
  std::uint64_t holder_;
  mutable std::map<int, std::chrono::steady_clock::time_point>
      next_attempts_;  ///< by rank whose lock is taken
};

}  // namespace mpixrma::windows
