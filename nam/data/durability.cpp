/// DataProcess: the content of persistent windows in the storage file. Clients map memory; it is written to
/// the file at persist() and release(), in the background, and when the process ends in order. Other windows
/// are never in the file.
#include <algorithm>

#include "nam/data/data_process.hpp"
#include "nam/process/log.hpp"

namespace mpixrma::nam {

namespace {

/// Bytes that are compared in the background each second: a few milliseconds.
constexpr std::uint64_t background_bytes = 16u << 20;

}  // namespace

/// Called in a new data process whose memory is new: all earlier processes of the server have ended, too.
void DataProcess::load_windows() {
  std::map<std::uint64_t, std::uint64_t> pieces;
  for (auto const& [id, held] : windows_)
    pieces.emplace(held.window.offset, SegmentAllocator::footprint(held.window.bytes));
  std::uint64_t end = 0;
  for (auto const& [offset, length] : pieces) {
    if (length == 0) continue;
    // A window that ended when the server did may have left bytes between the windows that remain.
    file_->clear(end, offset - end);
    file_->load(storage_->descriptor(), offset, length);
    end = offset + length;
  }
  file_->clear(end, storage_->bytes() - end);
}

/// After this the window survives the processes of the server; with `sync` also a crash of the machine.
void DataProcess::store(Window const& window, bool sync) const {
  if (!file_) return;
  file_->store(storage_->descriptor(), window.offset, SegmentAllocator::footprint(window.bytes));
  if (sync) file_->sync();
}

/// An ordered end promises no more than the operations before it did: failures are reported in the log.
void DataProcess::store_all() const noexcept {
  for (auto const& [id, held] : windows_) {
    try {
      if (held.window.persistent) store(held.window, held.window.durability == Durability::storage);
    } catch (std::exception const& error) {
      log(Severity::error, "window " + id + " is not written to storage: " + error.what());
    }
  }
}

/// Called once a second. Stores some of the windows, one after another and then from the first one again, as
/// long as there are sessions, and once completely after the last session.
void DataProcess::store_some() {
  if (!file_ || background_rounds_ == 0) return;
  std::uint64_t left = background_bytes;
  try {
    for (auto next = windows_.lower_bound(stored_window_); next != windows_.end() && left != 0;) {
      auto const& [id, held] = *next;
      std::uint64_t const length =
          held.window.persistent ? SegmentAllocator::footprint(held.window.bytes) : 0;
      std::uint64_t const begin = id == stored_window_ ? std::min(stored_bytes_, length) : 0;
      std::uint64_t const part = std::min(left, length - begin);
      file_->store(storage_->descriptor(), held.window.offset + begin, part);
      left -= part;
      stored_window_ = id;
      stored_bytes_ = begin + part;
      if (stored_bytes_ < length) return;
      ++next;
      stored_window_ = next != windows_.end() ? next->first : "";
      stored_bytes_ = 0;
    }
    if (left == 0) return;
    if (sessions_.empty()) --background_rounds_;
    stored_window_.clear();
    stored_bytes_ = 0;
  } catch (Error const& error) {
    background_rounds_ = 0;  // until a session has ended; persist() reports to its caller
    log(Severity::error, std::string("windows are not written to storage: ") + error.what());
  }
}

}  // namespace mpixrma::nam
