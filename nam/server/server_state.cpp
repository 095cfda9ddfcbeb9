#include "nam/server/server_state.hpp"

#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "nam/server/catalog_files.hpp"
#include "nam/server/windows.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::chrono::seconds longest_wait_for_directory{3};

void make_private(std::filesystem::path const& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (!error && ::chmod(directory.c_str(), S_IRWXU) != 0) error = {errno, std::generic_category()};
  if (error)
    throw Error(ErrorCode::bad_request,
                "cannot use the directory " + directory.string() + ": " + error.message());
}

/// Makes and locks the directory for this server alone.
FileDescriptor take_directory(Options const& options) {
  make_private(options.directory);
  make_private(options.directory / "run");
  if (options.storage == StorageKind::file) {
    std::error_code error;
    // Only this server creates files there.
    if (std::filesystem::create_directories(options.storage_directory, error))
      (void)::chmod(options.storage_directory.c_str(), S_IRWXU);
  }
  // The control process of a server that was killed is about to end, too, and then frees the lock.
  auto const end = std::chrono::steady_clock::now() + longest_wait_for_directory;
  for (;;) {
    try {
      return lock_directory(options.directory);
    } catch (Error const& error) {
      if (error.code() != ErrorCode::exists || std::chrono::steady_clock::now() >= end) throw;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace

ServerState::ServerState(Options given, MainProcessLink& main_process_link, Clients::Events events)
    : options(std::move(given)),
      main_process(main_process_link),
      lock(take_directory(options)),
      keys(options.directory / "server.key"),
      reserve(options.directory / "reserve"),
      catalog(options.directory / "catalog.sqlite", &reserve),
      audit(options.audit_log),
      secrets(options.directory / "secrets"),
      descriptor_limit(raise_descriptor_limit()),
      clients(loop, options, descriptor_limit, std::move(events)),
      listeners(loop, [this](FileDescriptor socket) { clients.admit(std::move(socket)); }),
      audit_of_requests(audit, clients),
      refusals(loop, clients),
      grants(clients),
      lost_windows(catalog),
      name_searches(loop, clients, [this](NameSearch& search) { return continue_search(*this, search); }) {}

}  // namespace mpixrma::nam
