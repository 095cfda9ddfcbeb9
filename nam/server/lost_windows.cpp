#include "nam/server/lost_windows.hpp"

#include "nam/process/log.hpp"
#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

void LostWindows::remove() {
  if (windows_.empty() || !removal_.is_due(Retry::Clock::now())) return;
  try {
    for (; !windows_.empty(); windows_.erase(windows_.begin())) catalog_.remove_window(*windows_.begin());
    removal_.note_success();
  } catch (Error const& error) {
    log(Severity::error, std::string("lost windows cannot be deleted now, and are later: ") + error.what());
    removal_.note_failure(Retry::Clock::now());
  }
}

}  // namespace mpixrma::nam
