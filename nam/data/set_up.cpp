/// DataProcess: the memory of the grant, and the windows that are in it when the process begins.
#include <sys/epoll.h>

#include <algorithm>

#include "nam/data/data_process.hpp"
#include "nam/process/admission.hpp"
#include "nam/process/log.hpp"
#include "nam/process/sandbox.hpp"
#include "nam/protocol/descriptors.hpp"
#include "nam/protocol/shortage.hpp"
#include "nam/protocol/socket.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::uint64_t max_message_bytes = 128u << 20;  ///< of all sessions, at a time
/// The system searches all locks of a grant for each request: a fraction of a millisecond.
constexpr std::uint64_t max_locks = 16384;
constexpr std::uint64_t file_size_margin = 64u << 20;
constexpr std::chrono::milliseconds reservation_pause{1};

}  // namespace

void DataProcess::set_up(Message& message) {
  Json const& head = message.head;
  grant_ = field<std::string>(head, "grant");
  owner_ = field<uid_t>(head, "owner");
  quotas_ = {field<std::uint64_t>(head, "max_windows"), field<std::uint64_t>(head, "max_regions"),
             field<std::uint64_t>(head, "max_sessions"), field<std::uint64_t>(head, "max_metadata")};
  shares_.sessions = {"sessions", quotas_.sessions};
  // Half of them: the engine needs some for its own connections.
  shares_.descriptors = {"descriptors", raise_descriptor_limit() / 2};
  shares_.locks = {"locks", max_locks};
  shares_.messages = {"bytes of messages", max_message_bytes};
  memory_.kind = parse_storage(field<std::string>(head, "storage"));
  leases_.length = std::chrono::seconds(field<std::uint32_t>(head, "lease"));
  adoption_.is_temporary = field<bool>(head, "temporary");
  remote_.network = {field<std::string>(head, "interfaces"),
                     parse_remote_keys(field<std::string>(head, "rdma")), field<bool>(head, "encrypt")};
  try {
    // Must come first: only the process that listens at the adoption socket uses the memory.
    if (message.descriptors.empty()) throw Error(ErrorCode::malformed, "a grant without a socket");
    adoption_.socket = std::move(message.descriptors.back());
    message.descriptors.pop_back();
    listen_at(adoption_.socket);
    open_memory(message);
    if (!field_or(head, "overcommit", false)) {
      memory_.storage->keep_pages();
      reservation_.is_active = memory_.storage->is_fresh();
    }
    // Memory and storage file exist now. No file may exceed the storage file by more than this margin.
    limit_file_size(storage_file_bytes(memory_.storage->bytes()) + file_size_margin);
  } catch (Error const& error) {
    return refuse_grant(error);
  }
  if (reservation_.is_active) return EventLoop::start_timer(reservation_.timer, reservation_pause);
  finish_set_up();
}

/// Reserves a part of the memory each time, so that the end of the grant does not wait for all of it.
void DataProcess::reserve_next() {
  if (!control_ || !memory_.storage) return;
  try {
    if (!memory_.storage->reserve_next())
      return EventLoop::start_timer(reservation_.timer, reservation_pause);
  } catch (Error const& error) {
    return refuse_grant(error);
  }
  reservation_.is_active = false;
  finish_set_up();
}

void DataProcess::finish_set_up() {
  memory_.free.emplace(memory_.storage->bytes());
  loop_.watch(adoption_.socket.get(), EPOLLIN, [this](std::uint32_t) { be_adopted(); });
  catalog_.loading = Loading{};
  control_->post({{"op", "load"}, {"after", 0u}});
}

/// Without its memory this process does nothing more, and writes nothing to the file.
void DataProcess::refuse_grant(Error const& error) {
  memory_.file.reset();
  memory_.storage.reset();
  Json answer = to_answer(error);
  answer["op"] = "failed";
  control_->post(answer);
  control_->close_when_sent();
}

/// Takes over the memory of an earlier process, or makes new memory. The descriptors are the list of
/// segments, which an earlier version did not have, the control memory, the memory, and the storage file.
void DataProcess::open_memory(Message& message) {
  auto const bytes = field<std::uint64_t>(message.head, "bytes");
  auto const places =
      std::max<std::uint64_t>(quotas_.windows, field<std::uint64_t>(message.head, "window_count"));
  auto& passed = message.descriptors;
  auto const take_last = [&passed] {
    FileDescriptor last = std::move(passed.back());
    passed.pop_back();
    return last;
  };
  if (memory_.kind == StorageKind::file) {
    if (passed.empty()) throw Error(ErrorCode::unavailable, "the grant's storage file was not passed");
    memory_.file.emplace(take_last(), StorageIdentity{grant_, bytes}, field<bool>(message.head, "new_file"));
  }
  bool const is_kept = memory_.is_inherited = passed.size() >= 2;
  is_kept ? memory_.storage.emplace(memory_.kind, bytes, take_last())
          : memory_.storage.emplace(memory_.kind, bytes);
  // The control memory of an earlier version may be laid out in another way.
  bool const has_control = is_kept && !field<bool>(message.head, "renew_control");
  FileDescriptor control = is_kept ? take_last() : FileDescriptor();
  memory_.shared.emplace(has_control ? SharedControl::take_over(std::move(control))
                                     : SharedControl::make(places));
  memory_.segments.emplace(is_kept && !passed.empty() ? SegmentList(take_last()) : SegmentList());
  restrict_to_owner(memory_.storage->descriptor());
  restrict_to_owner(memory_.shared->descriptor().get());
  restrict_to_owner(memory_.segments->descriptor());
}

/// Adds a page of the catalog's windows. After the last page, a process that has just started is ready.
void DataProcess::load(Json const& page) {
  if (!catalog_.loading) return;
  for (Json const& each : page.at("windows")) {
    Window window = window_from(each);
    std::string const id = window.id;
    catalog_.loading->listed.insert_or_assign(id, std::move(window));
  }
  if (auto const next = field<std::uint64_t>(page, "next"); next != 0)
    return control_->post({{"op", "load"}, {"after", next}});
  Loading const loaded = std::move(*std::exchange(catalog_.loading, std::nullopt));
  reconcile(loaded);
  std::vector<FileDescriptor> memory;
  try {
    if (!loaded.adopted) {
      take_inherited();
      memory = memory_to_pass();
    }
    if (memory_.file && !loaded.adopted) memory_.storage->is_fresh() ? load_windows() : store_all();
  } catch (Shortage const& error) {
    log(Severity::warning, error.what());
    return loop_.stop();  // it may pass: the control process starts another process after a pause
  } catch (Error const& error) {
    return refuse_grant(error);
  }
  catalog_.is_loaded = true;
  if (!loaded.adopted) report_ready(std::move(memory));
}

/// Drops persistent windows that the catalog does not have, or whose creation was never confirmed to a
/// client. Reports windows of the catalog that this process does not have.
void DataProcess::reconcile(Loading const& loaded) {
  auto const& listed = loaded.listed;
  for (std::string const& id : std::exchange(catalog_.unconfirmed, {})) drop(id);
  std::vector<std::string> gone;
  for (auto const& [id, served] : windows_) {
    if (served.window.persistent && !listed.contains(id) && !loaded.newer.contains(id)) gone.push_back(id);
  }
  // The control process that has evicted them ended before it could say so.
  for (std::string const& id : gone) drop(id, Ending::evicted);
  if (!loaded.adopted) {
    std::vector<std::string> kept;
    kept.reserve(listed.size());
    for (auto const& [id, window] : listed) kept.push_back(id);
    memory_.shared->withdraw_others(kept);
  }
  for (auto const& [id, window] : listed) {
    if (auto const known = windows_.find(id); known != windows_.end()) {
      // An earlier control process may have ended before it reported a change.
      if (known->second.window.ownership.mode != window.ownership.mode)
        change_mode(id, window.ownership.mode);
      continue;
    }
    if (loaded.adopted || !memory_.free->take_at(window.offset, window.bytes)) {
      control_->post({{"op", "lost"}, {"window", id}});
      continue;
    }
    register_window(window, 0, memory_.shared->find(id));
  }
}

/// Registers the window in slot `place`, or in a new slot. Throws Error(quota) if no slot is free, which
/// make_window() has excluded for a new window.
void DataProcess::register_window(Window window, SessionId session,
                                  std::optional<SharedControl::Slot> place) {
  std::string const id = window.id;
  auto const slot = place ? place : memory_.shared->place(id);
  if (!slot) throw Error(ErrorCode::quota, "the grant has no place for another window");
  totals_.regions += window.regions.size();
  totals_.metadata += metadata_bytes(window);
  ServedWindow& served = windows_.emplace(id, ServedWindow{std::move(window), session, *slot}).first->second;
  if (session != 0) served.synced = 0;  // the file has nothing of a new window
}

}  // namespace mpixrma::nam
