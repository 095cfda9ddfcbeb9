/// Names of persistent windows at memory servers.
#include <mpi.h>

#include <cstdlib>
#include <filesystem>

#include "mpi-windows/nam/error.hpp"
#include "nam/client/follow.hpp"
#include "nam/client/spread.hpp"

namespace mpixrma::windows {

namespace {

using nam::ErrorCode;
using nam::Json;

/// Converts the server's errors not_found and exists to MPI's errors of names.
template <typename Call>
auto convert_name_errors(Call call) {
  try {
    return call();
  } catch (nam::Error const& error) {
    throw NamError(error.code() == ErrorCode::not_found ? MPI_ERR_NAME : class_of(error.code()),
                   error.what());
  }
}

Json ask(nam::Address const& server, Json const& request) { return nam::Client(server).request(request); }

/// Whether there may be a server that can look up names.
bool is_at_hand(nam::Address const& server) {
  auto const is_set = [](char const* name) {
    char const* const value = std::getenv(name);
    return value != nullptr && *value != '\0';
  };
  std::error_code ignored;
  return is_set("MPIX_NAM_SERVER") || is_set("MPIX_NAM_ALLOCATION") ||
         std::filesystem::exists(server.unix_path, ignored);
}

}  // namespace

int class_of(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::no_space:
    case ErrorCode::quota: return MPI_ERR_NO_MEM;
    case ErrorCode::denied: return MPI_ERR_ACCESS;
    case ErrorCode::not_found: return MPI_ERR_PORT;
    case ErrorCode::bad_request: return MPI_ERR_ARG;
    case ErrorCode::exists: return MPI_ERR_NAME;
    case ErrorCode::unsupported: return MPI_ERR_UNSUPPORTED_OPERATION;
    default: return MPI_ERR_OTHER;
  }
}

int nam_ranks(std::string const& port, bool follow) {
  return convert_server_errors([&] {
    nam::ScopedFollowConsent const consent(follow);
    return static_cast<int>(nam::regions_of(nam::find_parts(port)).size());
  });
}

void nam_publish(std::string const& name, std::string const& port) {
  convert_server_errors([&] {
    (void)ask(nam::parse_locator(port).address, {{"op", "publish"}, {"name", name}, {"port", port}});
  });
}

void nam_unpublish(std::string const& name, std::string const& port) {
  convert_name_errors([&] {
    (void)ask(nam::parse_locator(port).address, {{"op", "unpublish"}, {"name", name}});
  });
}

std::string nam_lookup(std::string const& name) {
  return convert_name_errors([&] {
    nam::Address const server = nam::server_address();
    if (!is_at_hand(server))
      throw NamError(
          MPI_ERR_NAME,
          "MPIX_NAM_SERVER and MPIX_NAM_ALLOCATION do not name a memory server, and no server listens at " +
              nam::format(server));
    try {
      nam::Client client(server);
      auto port = nam::field<std::string>(client.request({{"op", "lookup"}, {"name", name}}), "port");
      nam::check_own_port(client, server, port);
      return port;
    } catch (nam::Error const& error) {
      if (error.code() == ErrorCode::unavailable) throw;  // its text names the server already
      throw nam::Error(error.code(), "the memory server at " + nam::format(server) + ": " + error.what());
    }
  });
}

}  // namespace mpixrma::windows
