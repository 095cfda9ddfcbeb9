#include "engine/net/ucx_context.hpp"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <utility>

#include "engine/base/shared_memory.hpp"
#include "engine/net/transport_config.hpp"

namespace mpixrma::engine {

Status UcxContext::open(Features const& features) {
  // UCX 1.13 aborts the process if its thread gets no descriptors.
  if (descriptors_run_short()) {
    log_.write(LogLevel::error, "UCX is not started: %s", to_string(Status::no_descriptors));
    return Status::no_descriptors;
  }
  UcpConfig const config = read_ucp_config();
  if (!config) {
    log_.write(LogLevel::error, "UCX's configuration cannot be read");
    return Status::transport;
  }
  if (features.interfaces != nullptr) restrict_to_interfaces(config.get(), features.interfaces);
  enlarge_tcp_segments(config.get(), features.message_bytes);
  if (!features.shared_memory) disable_shared_memory(config.get());
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_NAME | UCP_PARAM_FIELD_MT_WORKERS_SHARED;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP | (features.remote_memory ? UCP_FEATURE_RMA : 0);
  params.name = "mpix";
  params.mt_workers_shared = features.several_threads ? 1 : 0;
  ucs_status_t const status = ucp_init(&params, config.get(), &context_);
  if (status == UCS_OK) return Status::ok;
  context_ = nullptr;
  log_.write(LogLevel::error, "the start of UCX failed: %s", ucs_status_string(status));
  return Status::transport;
}

void UcxContext::close() noexcept {
  if (context_ != nullptr) ucp_cleanup(std::exchange(context_, nullptr));
}

/// UCX lists transports only as text: a line for each, which ends with, for example, "tcp/eth0".
std::vector<std::string> UcxContext::transports() const {
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* const stream = ::open_memstream(&text, &bytes);
  if (stream == nullptr) return {};
  ucp_context_print_info(context_, stream);
  std::fclose(stream);
  std::unique_ptr<char, void (*)(void*)> const owned(text, &std::free);
  std::istringstream lines(std::string(text, bytes));
  std::vector<std::string> found;
  for (std::string line; std::getline(lines, line);) {
    std::size_t const slash = line.rfind('/');
    if (line.find("resource") == std::string::npos || slash == std::string::npos) continue;
    std::size_t const begin = line.rfind(' ', slash) + 1;
    found.push_back(line.substr(begin, slash - begin));
  }
  return found;
}

bool UcxContext::permits_several_threads() noexcept {
  ucp_lib_attr_t attributes{};
  attributes.field_mask = UCP_LIB_ATTR_FIELD_MAX_THREAD_LEVEL;
  return ucp_lib_query(&attributes) == UCS_OK && attributes.max_thread_level == UCS_THREAD_MODE_MULTI;
}

}  // namespace mpixrma::engine
