/// DataProcess: the memory of evicted windows to which clients may still store. It stays in the list of
/// segments for the next data process, which does not know who maps the grant.
#include <algorithm>

#include "nam/data/data_process.hpp"

namespace mpixrma::nam {

/// A window that the process has yet to load is in the list of segments if an earlier process has served it.
void DataProcess::remove_window(std::string const& window) {
  if (catalog_.loading) catalog_.loading->listed.erase(window);
  drop(window, Ending::evicted);
}

std::uint64_t DataProcess::evicted_windows() const {
  return static_cast<std::uint64_t>(std::count_if(
      retired_.begin(), retired_.end(), [](RetiredSegment const& each) { return !each.window.empty(); }));
}

/// Called when the windows of the catalog have their memory, and before there are sessions.
void DataProcess::take_inherited() {
  for (auto const& [id, served] : windows_)
    memory_.segments->add({id, served.window.offset, served.window.bytes});
  for (SegmentList::Segment const& each : memory_.segments->segments()) {
    if (windows_.contains(each.window)) continue;
    if (memory_.free->take_at(each.offset, each.bytes))
      retired_.push_back(
          {.offset = each.offset, .bytes = each.bytes, .window = each.window, .is_inherited = true});
    else
      memory_.segments->remove(each.window);
  }
}

/// No process of an earlier session maps the grant any more.
void DataProcess::release_inherited() {
  memory_.is_inherited = false;
  for (RetiredSegment& piece : retired_) piece.is_inherited = false;
  reclaim_retired();
}

}  // namespace mpixrma::nam
