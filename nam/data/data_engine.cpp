#include "nam/data/data_engine.hpp"

#include <cstring>

#include "nam/protocol/error.hpp"
#include "nam/protocol/handshake.hpp"

namespace mpix::nam {

namespace {

[[noreturn]] void fail(int status) {
  throw Error(status == MPIX_ENGINE_OUT_OF_MEMORY ? ErrorCode::quota : ErrorCode::unavailable,
              std::string("the grant's engine: ") + mpix_engine_status_text(status));
}

/// Greater than those of the processes of jobs (Executor::name_of).
std::uint64_t random_process() {
  UserSecret const random = random_secret();
  std::uint64_t process = 0;
  std::memcpy(&process, random.data(), sizeof process);
  return process | std::uint64_t{0xffff} << 48;
}

}  // namespace

DataEngine::DataEngine(std::string const& interfaces, engine::StripeTable& stripes)
    : interfaces_(interfaces) {
  bootstrap_.size = sizeof bootstrap_;
  bootstrap_.context = this;
  bootstrap_.process = random_process();
  bootstrap_.publish = [](void* self, void const* address, std::size_t length) {
    auto const* const bytes = static_cast<std::byte const*>(address);
    static_cast<DataEngine*>(self)->address_.assign(bytes, bytes + length);
    return 0;
  };
  // Clients come to it; it looks for nobody.
  bootstrap_.peer_address = [](void*, std::uint64_t, void const**, std::size_t*) { return -1; };
  mpix_engine_config config;
  mpix_engine_config_init(&config);
  config.paths = MPIX_ENGINE_PATH_AGENT;
  config.channels = 1;
  config.interfaces = interfaces_.c_str();
  config.exposed_only = 1;
  config.stripes = &stripes;
  if (int const status = mpix_engine_create(&config, &bootstrap_, &engine_); status != 0) fail(status);
}

DataEngine::~DataEngine() { mpix_engine_destroy(engine_); }

std::uint64_t DataEngine::expose(std::byte* base, std::uint64_t bytes) {
  std::uint64_t exposure = 0;
  int const status = mpix_engine_expose(engine_, base, bytes,
                                        MPIX_ENGINE_READ | MPIX_ENGINE_WRITE | MPIX_ENGINE_UPDATE, &exposure);
  if (status != 0) fail(status);
  return exposure;
}

void DataEngine::conceal(std::uint64_t exposure) noexcept {
  if (exposure != 0) (void)mpix_engine_conceal(engine_, exposure);
}

}  // namespace mpix::nam
