#include "nam/data/data_process.hpp"

#include <fcntl.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "engine/memory/fault_guard.hpp"
#include "nam/process/admission.hpp"
#include "nam/process/log.hpp"
#include "nam/process/sandbox.hpp"
#include "nam/protocol/descriptor_refusal.hpp"
#include "nam/protocol/shortage.hpp"
#include "nam/protocol/socket.hpp"
#include "nam/protocol/version.hpp"

namespace mpixrma::nam {

namespace {

constexpr ChannelLimits control_limits{.head_bytes = 8u << 20, .data_bytes = 0, .descriptors = 4};
/// Limits of sessions of users who do not own the grant.
constexpr ChannelLimits guest_limits{.head_bytes = 16384, .data_bytes = 1u << 20, .descriptors = 0};
constexpr std::uint64_t most_message_bytes = 128u << 20;  ///< of all sessions, at a time
constexpr std::uint64_t descriptors_of_session = 2;       ///< its connection, and its client's process
/// Seconds without a control process. A control process that has ended is started again by its supervisor.
constexpr int longest_alone = 600;
constexpr std::uint64_t largest_other_file = 64u << 20;
constexpr std::chrono::milliseconds usage_delay{50};
constexpr std::chrono::milliseconds reservation_pause{1};

}  // namespace

DataProcess::DataProcess(FileDescriptor control) {
  if (!enable_interrupted_waits())
    log(Severity::warning, "the system has no timer left: descriptors that clients send may delay the grant");
  attach_control(std::move(control));
  loop_.on_signals({SIGTERM, SIGINT, SIGHUP}, [this](int signal) {
    if (signal == SIGTERM) loop_.stop();  // the control process decides about the others
  });
  loop_.every(std::chrono::seconds(1), [this] {
    take_back_spares(Spares::idle_for_a_second);
    end_silent_sessions();
    end_lost_sessions();
    if (engine_) engine_->renew_keys();
    give_back_concealed();
    store_some();
    wait_for_control();
  });
  loop_.linger(std::chrono::microseconds(100));
  reservation_timer_ = loop_.add_timer([this] { reserve_next(); });
  usage_timer_ = loop_.add_timer([this] {
    usage_due_ = false;
    tell_usage();
  });
}

int DataProcess::run() {
  // This thread does not block the signals of memory faults.
  engine::FaultScope::admit_always();
  (void)engine::admit_faults();
  loop_.run();
  return exit_code_;
}

void DataProcess::attach_control(FileDescriptor socket) {
  control_ = std::make_unique<Connection>(
      loop_, Channel(std::move(socket), control_limits), [this](Message& message) { on_control(message); },
      [this] { loop_.later([this] { lose_control(); }); });
  // The control process does not read while much waits to be sent to this one, so this one always reads.
  control_->read_while_sending(std::numeric_limits<std::size_t>::max());
  seconds_alone_ = 0;
  sessions_taken_ = 0;
}

void DataProcess::lose_control() {
  control_.reset();
  loading_.reset();
  if (!storage_ || !is_loaded_) return loop_.stop();  // the next one starts another process
  log(Severity::warning, "the control process has ended; waiting for a new one");
  for (auto const& [id, pending] : std::exchange(pending_, {})) {
    // The catalog may have the window: its memory is freed when the catalog does not have it any more.
    unconfirmed_.push_back(pending.window);
    auto const session = sessions_.find(pending.session);
    if (session == sessions_.end()) continue;
    session->second.connection->post(
        to_answer(Error(ErrorCode::unavailable, "the server's control process has gone")));
    session->second.connection->resume();
  }
}

/// Accepts a new control process if there is none.
void DataProcess::be_adopted() {
  FileDescriptor socket = accept_from(adoption_);
  if (!socket && is_shortage(errno)) loop_.pause(adoption_.get(), std::chrono::milliseconds(100));
  if (!socket || control_) return;
  attach_control(std::move(socket));
  loading_ = Loading{true, {}, {}};
  tell_ready();
}

void DataProcess::tell_ready() {
  Json ready = usage();
  ready["protocol"] = data_protocol_version;
  ready["encrypt"] = network_.encrypt;
  ready["op"] = "ready";
  control_->post(ready, {}, memory_to_pass());
}

/// Returns the descriptors for the control process, which keeps them beyond the life of this one.
std::vector<FileDescriptor> DataProcess::memory_to_pass() const {
  std::vector<FileDescriptor> memory;
  memory.emplace_back(::fcntl(shared_->descriptor().get(), F_DUPFD_CLOEXEC, 0));
  memory.emplace_back(::fcntl(storage_->descriptor(), F_DUPFD_CLOEXEC, 0));
  return memory;
}

/// Called once a second. Nobody restarts a temporary server: its windows last as long as they are used.
void DataProcess::wait_for_control() {
  if (control_) return;
  bool const goes_on = temporary_ ? !sessions_.empty() : ++seconds_alone_ <= longest_alone;
  if (goes_on) return;
  log(Severity::error, "no control process has come back; the memory of the grant is freed");
  exit_code_ = 1;
  end(true);
}

/// A message that fails is logged and not answered: an answer would be a request to the control process, and
/// the link has to last.
void DataProcess::on_control(Message& message) {
  try {
    obey(message);
  } catch (Error const& error) {
    log(Severity::error, std::string("a message of the control process failed: ") + error.what());
  }
}

void DataProcess::obey(Message& message) {
  auto const op = field<std::string>(message.head, "op");
  if (op == "setup") {
    set_up(message);
  } else if (op == "adopt") {
    control_->post({{"op", "load"}, {"after", 0u}});
  } else if (op == "windows") {
    load(message.head);
  } else if (op == "session") {
    ++sessions_taken_;
    tell_usage();  // also of one that fails
    open_session(message);
  } else if (op == "created") {
    on_created(message.head);
  } else if (op == "remove") {
    if (loading_) loading_->listed.erase(field<std::string>(message.head, "window"));
    drop(field<std::string>(message.head, "window"), Ending::evicted);
  } else if (op == "chmod") {
    change_mode(field<std::string>(message.head, "window"), field<unsigned>(message.head, "mode"));
  } else if (op == "end") {
    end(field_or(message.head, "keep_windows", true));
  }
}

void DataProcess::set_up(Message& message) {
  Json const& head = message.head;
  grant_ = field<std::string>(head, "grant");
  owner_ = field<uid_t>(head, "owner");
  quotas_ = {field<std::uint64_t>(head, "max_windows"), field<std::uint64_t>(head, "max_regions"),
             field<std::uint64_t>(head, "max_sessions"), field<std::uint64_t>(head, "max_metadata")};
  session_shares_ = {"sessions", quotas_.sessions};
  // Half of them: the engine needs some for its own connections.
  descriptor_shares_ = {"descriptors", raise_descriptor_limit() / 2};
  message_shares_ = {"bytes of messages", most_message_bytes};
  kind_ = parse_storage(field<std::string>(head, "storage"));
  lease_ = std::chrono::seconds(field<std::uint32_t>(head, "lease"));
  temporary_ = field<bool>(head, "temporary");
  network_ = {field<std::string>(head, "interfaces"), parse_remote_keys(field<std::string>(head, "rdma")),
              field<bool>(head, "encrypt")};
  try {
    // Must come first: the process that listens there is the only one that uses the memory.
    if (message.descriptors.empty()) throw Error(ErrorCode::malformed, "a grant without a socket");
    adoption_ = std::move(message.descriptors.back());
    message.descriptors.pop_back();
    listen_at(adoption_);
    open_memory(message);
    if (!field_or(head, "overcommit", false)) {
      storage_->keep_pages();
      reserving_ = storage_->is_fresh();
    }
    // Memory and file are there: this process makes no larger ones.
    limit_file_size(storage_file_bytes(storage_->bytes()) + largest_other_file);
  } catch (Error const& error) {
    return refuse_grant(error);
  }
  if (reserving_) return EventLoop::start_timer(reservation_timer_, reservation_pause);
  finish_set_up();
}

/// Reserves a part of the memory each time, so that the end of the grant does not wait for all of it.
void DataProcess::reserve_next() {
  if (!control_ || !storage_) return;
  try {
    if (!storage_->reserve_next()) return EventLoop::start_timer(reservation_timer_, reservation_pause);
  } catch (Error const& error) {
    return refuse_grant(error);
  }
  reserving_ = false;
  finish_set_up();
}

void DataProcess::finish_set_up() {
  free_.emplace(storage_->bytes());
  loop_.watch(adoption_.get(), EPOLLIN, [this](std::uint32_t) { be_adopted(); });
  loading_ = Loading{};
  control_->post({{"op", "load"}, {"after", 0u}});
}

/// Without its memory this process does nothing more, and writes nothing to the file.
void DataProcess::refuse_grant(Error const& error) {
  file_.reset();
  storage_.reset();
  Json answer = to_answer(error);
  answer["op"] = "failed";
  control_->post(answer);
  control_->close_when_sent();
}

/// Takes in a page of the catalog's windows. After the last page, a process that has just started is ready.
void DataProcess::load(Json const& page) {
  if (!loading_) return;
  for (Json const& each : page.at("windows")) {
    Window window = window_from(each);
    std::string const id = window.id;
    loading_->listed.insert_or_assign(id, std::move(window));
  }
  if (auto const next = field<std::uint64_t>(page, "next"); next != 0)
    return control_->post({{"op", "load"}, {"after", next}});
  Loading const loaded = std::move(*std::exchange(loading_, std::nullopt));
  reconcile(loaded);
  try {
    if (file_ && !loaded.adopted) storage_->is_fresh() ? load_windows() : store_all();
  } catch (Error const& error) {
    return refuse_grant(error);
  }
  is_loaded_ = true;
  if (!loaded.adopted) tell_ready();
}

/// Takes over the memory of an earlier process, or makes new memory; the storage file is the last descriptor.
void DataProcess::open_memory(Message& message) {
  auto const bytes = field<std::uint64_t>(message.head, "bytes");
  auto const places =
      std::max<std::uint64_t>(quotas_.windows, field<std::uint64_t>(message.head, "window_count"));
  auto& passed = message.descriptors;
  if (kind_ == StorageKind::file) {
    if (passed.empty()) throw Error(ErrorCode::unavailable, "the grant's storage file was not passed");
    file_.emplace(std::move(passed.back()), StorageIdentity{grant_, bytes},
                  field<bool>(message.head, "new_file"));
    passed.pop_back();
  }
  bool const is_kept = passed.size() == 2;
  is_kept ? storage_.emplace(kind_, bytes, std::move(passed[1])) : storage_.emplace(kind_, bytes);
  // The control memory of an earlier version may be laid out in another way.
  bool const has_control = is_kept && !field<bool>(message.head, "renew_control");
  shared_.emplace(has_control ? SharedControl::take_over(std::move(passed[0])) : SharedControl::make(places));
}

/// Sessions have the new mode from their next request on. Sessions that have no right any more lose their
/// locks, too.
void DataProcess::change_mode(std::string const& window, unsigned mode) {
  if (auto const found = windows_.find(window); found != windows_.end()) {
    Held& held = found->second;
    held.window.ownership.mode = mode;
    for (auto const& [id, session] : sessions_) {
      if (may(session, held.window, Access::read) || may(session, held.window, Access::write)) continue;
      for (auto const& [holder, locks] : session.locks) locks.unlock_all(held.slot);
    }
  }
  if (loading_ && loading_->listed.contains(window)) loading_->listed.at(window).ownership.mode = mode;
}

/// Clients find out when they use the windows.
void DataProcess::withdraw_all() noexcept {
  if (shared_) shared_->withdraw_others({});
}

/// If `keep_windows` is set, the grant continues with the next data process.
void DataProcess::end(bool keep_windows) {
  withdraw_all();
  if (keep_windows) store_all();
  if (!keep_windows && storage_) storage_->discard();
  loop_.stop();
}

/// Drops windows that the catalog does not have. A process that has served before may have a window whose
/// creation was never confirmed to a client.
void DataProcess::reconcile(Loading const& loaded) {
  auto const& listed = loaded.listed;
  for (std::string const& id : std::exchange(unconfirmed_, {})) drop(id);
  std::vector<std::string> gone;
  for (auto const& [id, held] : windows_) {
    if (held.window.persistent && !listed.contains(id) && !loaded.newer.contains(id)) gone.push_back(id);
  }
  for (std::string const& id : gone) drop(id);
  if (!loaded.adopted) {
    std::vector<std::string> kept;
    for (auto const& [id, window] : listed) kept.push_back(id);
    shared_->withdraw_others(kept);
  }
  for (auto const& [id, window] : listed) {
    if (windows_.contains(id)) continue;
    if (loaded.adopted || !free_->take_at(window.offset, window.bytes)) {
      control_->post({{"op", "lost"}, {"window", id}});
      continue;
    }
    keep(window, 0, shared_->find(id));
  }
}

/// Keeps the window in the given place, or in a new one. A place is free: that was checked when the window
/// was made.
void DataProcess::keep(Window window, SessionId session, std::optional<SharedControl::Slot> place) {
  std::string const id = window.id;
  auto const slot = place ? place : shared_->place(id);
  if (!slot) throw Error(ErrorCode::quota, "the grant has no place for another window");
  regions_ += window.regions.size();
  metadata_ += metadata_bytes(window);
  windows_.emplace(id, Held{std::move(window), session, *slot});
}

void DataProcess::open_session(Message& message) {
  Json const& head = message.head;
  if (message.descriptors.empty())
    throw Error(ErrorCode::quota,
                "a session came without its connection: this process has too many descriptors");
  SessionId const id = next_session_++;
  Session& session = sessions_[id];
  session.identity = {field<uid_t>(head, "uid"), field<std::vector<gid_t>>(head, "groups"),
                      field<bool>(head, "admin")};
  session.is_owner = session.identity.uid == owner_ || session.identity.is_admin;
  session.is_local = !head.contains("stream");
  FileDescriptor& socket = message.descriptors.front();
  auto const client = credentials_of(socket);
  if (!session.is_local && lease_.count() != 0) bound_silence(socket, lease_);
  Channel channel(std::move(socket), session.is_owner ? ChannelLimits{} : guest_limits);
  // Each session alone may keep a whole message: all of them together could take the memory of the host.
  channel.set_account(account_in(message_shares_, {session.identity.uid, session.is_owner}));
  if (!session.is_local) channel.protect(SecureStream::from_state(field<std::string>(head, "stream")));
  session.connection = std::make_unique<Connection>(
      loop_, std::move(channel), [this, id](Message& request) { serve(id, request); },
      [this, id] { loop_.later([this, id] { close_session(id); }); });
  session.connection->serve_in_turn(std::to_string(session.identity.uid));
  watch_client(id, client ? client->pid : 0);
  Message first{head.at("request"), {}, {}};
  try {
    take_share(session);
    serve(id, first);
  } catch (Error const& error) {
    session.connection->post(to_answer(error));
    session.connection->close_when_sent();
  }
  tell_usage();
}

void DataProcess::take_share(Session& session) {
  session_shares_.take(session.identity.uid, session.is_owner);
  try {
    descriptor_shares_.take(session.identity.uid, session.is_owner, descriptors_of_session);
  } catch (Error const&) {
    session_shares_.give_back(session.identity.uid, session.is_owner);
    throw;
  }
  session.has_share = true;
}

void DataProcess::close_session(SessionId id) {
  auto const found = sessions_.find(id);
  if (found == sessions_.end()) return;
  Session const& session = found->second;
  if (session.has_share) {
    session_shares_.give_back(session.identity.uid, session.is_owner);
    descriptor_shares_.give_back(session.identity.uid, session.is_owner,
                                 descriptors_of_session + session.locks.size());
  }
  if (session.process) loop_.forget(session.process.get());
  std::vector<std::string> ended;
  for (auto& [window, held] : windows_) {
    held.used_by.erase(id);
    if (held.session == id) ended.push_back(window);
  }
  for (Piece& piece : concealed_) piece.used_by.erase(id);
  // Must come first: operations that the session has sent and that are not executed yet come too late.
  if (std::uint64_t const access = session.access.session; access != 0) engine_->close(access);
  sessions_.erase(found);
  for (std::string const& window : ended) drop(window);
  background_rounds_ = 2;
  tell_usage();
}

/// Handles the catalog's answer about a new persistent window.
void DataProcess::on_created(Json const& answer) {
  auto const found = pending_.find(field<std::uint64_t>(answer, "creation"));
  if (found == pending_.end()) return;
  Pending const pending = found->second;
  pending_.erase(found);
  auto const session = sessions_.find(pending.session);
  bool const refused = answer.contains("error");
  if (refused) drop(pending.window);
  if (session == sessions_.end()) return;
  Json reply = answer;
  if (!refused && !windows_.contains(pending.window)) {
    reply = to_answer(Error(ErrorCode::not_found, "the window was evicted"));
  } else if (!refused) {
    reply = describe(pending.session, windows_.at(pending.window));
    reply["port"] = field<std::string>(answer, "port");
  }
  session->second.connection->post(reply);
  session->second.connection->resume();
}

Json DataProcess::usage() const {
  std::uint64_t const free = free_ ? free_->free_bytes() : 0;
  auto const persistent = std::count_if(windows_.begin(), windows_.end(),
                                        [](auto const& entry) { return entry.second.window.persistent; });
  return {{"used", storage_ ? storage_->bytes() - free : 0},
          {"free", free},
          {"largest_free", free_ ? free_->largest_free() : 0},
          {"windows", windows_.size()},
          {"persistent", persistent},
          {"sessions", sessions_.size()}};
}

/// Windows that are not persistent are made and freed often: the control process is not woken for each.
void DataProcess::tell_usage_of(Window const& window) {
  if (window.persistent) return tell_usage();
  tell_usage_soon();
}

void DataProcess::tell_usage_soon() {
  if (!std::exchange(usage_due_, true)) EventLoop::start_timer(usage_timer_, usage_delay);
}

/// Reports the usage once for all that happens now.
void DataProcess::tell_usage() {
  if (!std::exchange(usage_told_, false)) return;
  loop_.later([this] {
    usage_told_ = true;
    if (!control_) return;
    // Sent only if nothing else waits: however long the control process does not read, one message waits.
    if (control_->output_bytes() != 0) return tell_usage_soon();
    Json told = usage();
    told["op"] = "usage";
    told["taken"] = std::exchange(sessions_taken_, 0);
    control_->post(told);
  });
}

}  // namespace mpixrma::nam
