/// The UCX context, which the workers of an engine share: UCX's configuration, devices and registered memory.
#pragma once

#include <ucp/api/ucp.h>

#include <string>
#include <vector>

#include "engine/base/log.hpp"
#include "engine/base/status.hpp"

namespace mpixrma::engine {

class UcxContext {
 public:
  struct Features {
    bool remote_memory = false;        ///< enables UCX put and get
    bool several_threads = false;      ///< different threads use workers and register memory concurrently
    bool shared_memory = true;         ///< messages on this host do not use the network
    char const* interfaces = nullptr;  ///< mpix_engine_config::interfaces
    std::size_t message_bytes = 0;     ///< largest message, with its headers
  };

  explicit UcxContext(Log const& log) : log_(log) {}
  ~UcxContext() { close(); }
  UcxContext(UcxContext const&) = delete;
  UcxContext& operator=(UcxContext const&) = delete;

  Status open(Features const& features);
  /// Must be called after the workers are closed.
  void close() noexcept;

  ucp_context_h get() const noexcept { return context_; }
  /// Names of the transports that UCX's configuration permits, such as tcp or rc_mlx5.
  std::vector<std::string> transports() const;

  /// Whether this UCX was built for Features::several_threads.
  static bool permits_several_threads() noexcept;

 private:
  Log const& log_;
  ucp_context_h context_ = nullptr;
};

}  // namespace mpixrma::engine
