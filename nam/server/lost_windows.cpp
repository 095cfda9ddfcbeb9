#include "nam/server/lost_windows.hpp"

#include "nam/process/log.hpp"
#include "nam/protocol/error.hpp"

namespace mpixrma::nam {

void LostWindows::remove() {
  if (windows_.empty() || !retry_.is_due(Retry::Clock::now())) return;
  try {
    for (; !windows_.empty(); windows_.erase(windows_.begin())) catalog_.remove_window(*windows_.begin());
    retry_.note_success();
  } catch (Error const& error) {
    log(Severity::error, std::string("cannot delete lost windows, will retry: ") + error.what());
    retry_.note_failure(Retry::Clock::now());
  }
}

}  // namespace mpixrma::nam
