/// DataProcess: the memory of evicted windows to which clients may still store. The control process keeps a
/// list of it for the next data process, which does not know who maps the grant.
#include "nam/data/data_process.hpp"

namespace mpixrma::nam {

/// A window that the process has yet to load has its memory reserved when the others are loaded.
void DataProcess::remove_window(Json const& segment) {
  auto const window = field<std::string>(segment, "window");
  if (catalog_.loading && !windows_.contains(window) && segment.contains("offset")) {
    catalog_.loading->listed.erase(window);
    catalog_.loading->evicted.push_back(segment);
  } else {
    if (catalog_.loading) catalog_.loading->listed.erase(window);
    drop(window, Ending::evicted);
  }
  control_->post({{"op", "removed"}, {"window", window}});
}

Json DataProcess::evicted_segments() const {
  Json segments = Json::array();
  for (RetiredSegment const& each : retired_) {
    if (each.window.empty()) continue;
    segments.push_back(
        {{"offset", each.offset}, {"bytes", each.bytes}, {"in_file", each.in_file}, {"window", each.window}});
  }
  return segments;
}

void DataProcess::report_evicted() {
  Json segments = evicted_segments();
  if (!control_ || segments == reported_evicted_) return;
  reported_evicted_ = std::move(segments);
  control_->post({{"op", "evicted"}, {"segments", reported_evicted_}});
  report_usage_soon();
}

/// Called when the windows of the catalog have their memory, and before there are sessions.
void DataProcess::take_left(Json const& segments) {
  for (Json const& each : segments) {
    RetiredSegment piece{.offset = field<std::uint64_t>(each, "offset"),
                         .bytes = field<std::uint64_t>(each, "bytes"),
                         .in_file = field<bool>(each, "in_file"),
                         .window = field<std::string>(each, "window"),
                         .is_left = true};
    if (memory_.free->take_at(piece.offset, piece.bytes)) retired_.push_back(std::move(piece));
  }
}

/// No process of an earlier session maps the grant any more.
void DataProcess::release_left() {
  memory_.may_be_left = false;
  for (RetiredSegment& piece : retired_) piece.is_left = false;
  reclaim_revoked();
}

}  // namespace mpixrma::nam
