/// The engine of a data process: by it, clients that cannot map the memory reach the windows of the grant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/runtime/mpix_engine.h"
#include "engine/sync/stripes.hpp"

namespace mpixrma::nam {

/// Whether clients are given keys of windows, with which UCX puts and gets without a look at exposures.
enum class RemoteKeys { never, hardware, always };

/// As of the option --rdma. Throws Error(bad_request).
RemoteKeys parse_remote_keys(std::string const& policy);
char const* to_string(RemoteKeys policy) noexcept;

class DataEngine {
 public:
  struct Network {
    std::string interfaces;  ///< where UCX's TCP listens, as in mpix_engine_config
    RemoteKeys remote_keys = RemoteKeys::never;
    bool encrypt = false;  ///< all messages; without remote keys
  };
  /// `stripes`: of those who map the memory. Throws Error(unavailable).
  DataEngine(Network const& network, engine::StripeTable& stripes);
  ~DataEngine();
  DataEngine(DataEngine const&) = delete;
  DataEngine& operator=(DataEngine const&) = delete;

  /// Somebody who is admitted to what is exposed, until close().
  struct Access {
    std::uint64_t session = 0;
    std::vector<std::byte> address;  ///< good for this session alone
  };
  /// Throws Error.
  Access open();
  /// No operation of the session is executed any more when it returns, and its keys are destroyed when other
  /// sessions have given them back.
  void close(std::uint64_t session) noexcept;
  /// Goes on with that, and begins it for clients that have gone otherwise. Now and then.
  void renew_keys() noexcept;
  /// The session's connection has ended, or carried a message that was changed. Where messages are encrypted.
  bool is_lost(std::uint64_t session) const noexcept;

  /// For all operations; `bytes` is not 0. The exposure's name is not given a second time. Throws Error.
  std::uint64_t expose(std::byte* base, std::uint64_t bytes);
  /// From here on no operation begins by it. Those of clients with keys may go on until is_unreachable().
  mpix_engine_concealed conceal(std::uint64_t exposure) noexcept;
  bool is_unreachable(mpix_engine_concealed const& concealed) const noexcept;

 private:
  bool has_keys_;
  mpix_bootstrap bootstrap_{};
  std::string interfaces_;
  mpix_engine_t* engine_ = nullptr;
};

}  // namespace mpixrma::nam
