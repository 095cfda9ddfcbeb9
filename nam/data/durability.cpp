/// DataProcess: the content of persistent windows in the storage file. Clients map memory; it is written to
/// the file when a window becomes persistent, at persist() and release(), in the background, and when the
/// process ends in order. Other windows are never written.
#include <algorithm>

#include "nam/data/data_process.hpp"
#include "nam/process/log.hpp"

namespace mpixrma::nam {

namespace {

/// Bytes that are compared in the background each second: a few milliseconds.
constexpr std::uint64_t background_bytes = 16u << 20;
/// Bytes that are stored in one turn, which takes less than a millisecond: as many as the largest read or
/// write.
constexpr std::uint64_t bytes_in_a_turn = 1u << 20;

using Pages = StorageFile::Pages;

}  // namespace

/// Called in a new data process whose memory is new: the grant is new, or all processes that had its memory
/// have ended.
void DataProcess::load_windows() {
  std::map<std::uint64_t, std::uint64_t> pieces;
  for (auto const& [id, served] : windows_)
    pieces.emplace(served.window.offset, SegmentAllocator::footprint(served.window.bytes));
  std::uint64_t end = 0;
  for (auto const& [offset, length] : pieces) {
    if (length == 0) continue;
    // A window that ended when the server did may have left bytes between the windows that remain.
    memory_.file->clear(end, offset - end);
    memory_.file->load(memory_.storage->descriptor(), offset, length);
    end = offset + length;
  }
  memory_.file->clear(end, memory_.storage->bytes() - end);
}

std::uint64_t DataProcess::failed_syncs() const noexcept {
  return memory_.sync ? memory_.sync->failures() : 0;
}

/// The session waits until the window has the durability that `storing` demands. Other sessions do not wait:
/// the window is written in turns of the session's user, and a thread waits for the disk.
void DataProcess::begin_storing(Storing storing) {
  if (!memory_.file) return storing.done(windows_.at(storing.window));
  if (storing.durability == Durability::storage && !memory_.sync)
    memory_.sync.emplace(loop_, [this] { memory_.file->sync(); });
  storing.failures = failed_syncs();
  Connection& connection = *sessions_.at(storing.session).connection;
  store_next(std::make_shared<Storing>(std::move(storing)));
  connection.pause();
}

void DataProcess::store_next(std::shared_ptr<Storing> const& storing) {
  uid_t const user = sessions_.at(storing->session).account;
  loop_.in_turn(std::to_string(user), [this, storing] {
    if (!sessions_.contains(storing->session)) return;
    try {
      store_part(storing);
    } catch (Error const& error) {
      end_storing(*storing, &error);
    }
  });
}

void DataProcess::store_part(std::shared_ptr<Storing> const& storing) {
  auto const found = windows_.find(storing->window);
  if (found == windows_.end()) throw Error(ErrorCode::not_found, "the window was evicted");
  Window const& window = found->second.window;
  std::uint64_t const length = SegmentAllocator::footprint(window.bytes);
  bool const is_synced = storing->durability == Durability::storage;
  Pages const pages = is_synced && found->second.synced != storing->failures ? Pages::all : Pages::changed;
  std::uint64_t const end =
      memory_.file->store(pages, memory_.storage->descriptor(), window.offset + storing->stored,
                          length - storing->stored, bytes_in_a_turn);
  storing->stored = end - window.offset;
  if (storing->stored < length) return store_next(storing);
  if (!is_synced) return end_storing(*storing, nullptr);
  if (failed_syncs() != storing->failures)
    throw Error(ErrorCode::internal, "the storage file of the grant could not be written");
  memory_.sync->request([this, storing](Error const* failure) { end_storing(*storing, failure); });
}

void DataProcess::end_storing(Storing const& storing, Error const* failure) {
  if (!sessions_.contains(storing.session)) return;
  try {
    if (failure != nullptr) throw *failure;
    auto const found = windows_.find(storing.window);
    if (found == windows_.end()) throw Error(ErrorCode::not_found, "the window was evicted");
    if (storing.durability == Durability::storage) found->second.synced = storing.failures;
    storing.done(found->second);
  } catch (Error const& error) {
    storing.failed();
    answer_session(storing.session, to_answer(error));
  }
}

/// Answers a request, for which the session may be paused.
void DataProcess::answer_session(SessionId id, Json const& answer) {
  Connection& connection = *sessions_.at(id).connection;
  connection.post(answer);
  if (connection.is_paused()) connection.resume();
}

/// Failures are only logged: an ordered end promises no more durability than the operations before it did.
void DataProcess::store_all() const noexcept {
  if (!memory_.file) return;
  for (auto const& [id, served] : windows_) {
    Window const& window = served.window;
    if (!window.persistent) continue;
    Pages const pages = served.synced.value_or(0) == failed_syncs() ? Pages::changed : Pages::all;
    try {
      memory_.file->store(pages, memory_.storage->descriptor(), window.offset,
                          SegmentAllocator::footprint(window.bytes));
      if (window.durability == Durability::storage) memory_.file->sync();
    } catch (std::exception const& error) {
      log(Severity::error, "window " + id + " is not written to storage: " + error.what());
    }
  }
}

/// Called once a second. Stores some of the windows, one after another and then from the first one again, as
/// long as there are sessions, and once completely after the last session.
void DataProcess::store_some() {
  if (!memory_.file || write_back_.rounds_due == 0) return;
  std::uint64_t left = background_bytes;
  try {
    for (auto next = windows_.lower_bound(write_back_.window); next != windows_.end() && left != 0;) {
      auto const& [id, served] = *next;
      std::uint64_t const length =
          served.window.persistent ? SegmentAllocator::footprint(served.window.bytes) : 0;
      std::uint64_t const begin = id == write_back_.window ? std::min(write_back_.bytes, length) : 0;
      std::uint64_t const part = std::min(left, length - begin);
      memory_.file->store(Pages::changed, memory_.storage->descriptor(), served.window.offset + begin, part);
      left -= part;
      write_back_.window = id;
      write_back_.bytes = begin + part;
      if (write_back_.bytes < length) return;
      ++next;
      write_back_.window = next != windows_.end() ? next->first : "";
      write_back_.bytes = 0;
    }
    if (left == 0) return;
    if (sessions_.empty()) --write_back_.rounds_due;
    write_back_.window.clear();
    write_back_.bytes = 0;
  } catch (Error const& error) {
    write_back_.rounds_due = 0;  // until a session has ended; persist() reports to its caller
    log(Severity::error, std::string("windows are not written to storage: ") + error.what());
  }
}

}  // namespace mpixrma::nam
