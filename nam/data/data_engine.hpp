/// The engine of a data process: clients that cannot map the memory reach the windows of the grant through
/// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/runtime/mpix_engine.h"
#include "engine/sync/stripes.hpp"
#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

/// Whether clients are given keys of windows, with which UCX puts and gets without a check of exposures.
/// `hardware`, `warn`: if network hardware puts and gets, `warn` with a line in the log if none does;
/// `emulated`: also if UCX emulates it.
enum class RemoteKeys { never, hardware, warn, emulated };

/// Parses the value of the option --rdma. Throws Error(bad_request).
RemoteKeys parse_remote_keys(std::string const& policy);
char const* to_string(RemoteKeys policy) noexcept;

class DataEngine {
 public:
  struct Network {
    std::string interfaces;  ///< on which UCX's TCP listens, as in mpix_engine_config
    RemoteKeys remote_keys = RemoteKeys::never;
    bool encrypt = false;  ///< encrypts all messages; excludes remote keys
  };
  /// Maximum number of engine processes of a client that use one session: a program may have several engines.
  static constexpr std::uint64_t processes_of_session = 4;

  /// `stripes`: shared with the processes that map the memory. `message_bytes`: most that messages of clients
  /// may take at a time; answers to them may take as much again. Throws Error(unavailable).
  DataEngine(Network const& network, engine::StripeTable& stripes, std::uint64_t message_bytes);
  ~DataEngine();
  DataEngine(DataEngine const&) = delete;
  DataEngine& operator=(DataEngine const&) = delete;

  /// A peer that may use the exposed memory until close().
  struct Access {
    std::uint64_t session = 0;
    std::vector<std::byte> address;  ///< good for this session alone
  };
  /// Admits a new session. Throws Error.
  Access open();
  /// When it returns, no operation of the session is executed any more, and the keys that the session knew
  /// are destroyed once all other sessions have returned them.
  void close(std::uint64_t session) noexcept;
  /// Destroys the keys that ended or lost sessions knew, once all other sessions have returned them. Called
  /// periodically.
  void renew_keys() noexcept;
  /// Returns why the session has ended without close(); nothing while it goes on.
  std::optional<Error> end_of(std::uint64_t session) const;

  /// Exposes memory for all operations; `bytes` is not 0. The name of the exposure is not reused. Throws
  /// Error.
  std::uint64_t expose(std::byte* base, std::uint64_t bytes);
  /// Withdraws the exposure: no operation can begin to use it. Operations of clients with keys may continue
  /// until is_unreachable().
  mpix_engine_withdrawn withdraw(std::uint64_t exposure) noexcept;
  bool is_unreachable(mpix_engine_withdrawn const& withdrawn) const noexcept;

 private:
  bool has_keys_;
  mpix_bootstrap bootstrap_{};
  std::string interfaces_;
  mpix_engine_t* engine_ = nullptr;
};

}  // namespace mpixrma::nam
