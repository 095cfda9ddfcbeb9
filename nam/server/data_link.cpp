#include "nam/server/data_link.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "nam/process/log.hpp"
#include "nam/protocol/descriptor_refusal.hpp"
#include "nam/protocol/shortage.hpp"
#include "nam/protocol/socket.hpp"
#include "nam/protocol/text.hpp"
#include "nam/protocol/version.hpp"

namespace mpixrma::nam {

namespace {

/// While more than this many bytes wait to be sent, the link reads nothing from the data process, and rejects
/// those requests of clients that can be rejected. The process always reads (docs/decisions/0019).
constexpr std::size_t max_output = 1u << 20;
constexpr ChannelLimits limits{
    .head_bytes = 8u << 20, .data_bytes = 0, .descriptors = 4, .values = max_request_values};

/// Maximum length of a data process's text in a line of the log.
constexpr std::size_t max_logged = 300;

/// Returns the known numbers of a report, and drops everything else.
Json usage_in(Json const& report) {
  Json usage;
  for (char const* const name :
       {"used", "free", "largest_free", "windows", "persistent", "evicted", "sessions"})
    usage[name] = field_or(report, name, std::uint64_t{0});
  return usage;
}

}  // namespace

DataLink::DataLink(EventLoop& loop, MainProcessLink& main_process, Json setup, StorageKind storage,
                   std::string fairness_group, Events events)
    : loop_(loop),
      main_process_(main_process),
      setup_(std::move(setup)),
      volatile_(storage != StorageKind::file),
      fairness_group_(std::move(fairness_group)),
      events_(std::move(events)),
      memory_(main_process.take_memory(field<std::string>(setup_, "grant"))),
      sessions_(owner()) {}

void DataLink::start(OnFailure on_failure) {
  try {
    start_process();
  } catch (Shortage const& error) {
    start_later(error);
  } catch (Error const& error) {
    bool const may_pass = error.code() == ErrorCode::no_space || error.code() == ErrorCode::unavailable;
    if (on_failure == OnFailure::give_up || !may_pass) return give_up(error);
    start_later(error);
  }
}

void DataLink::start_process() {
  if (!adopt()) spawn();
  restart_.note_success();
}

void DataLink::start_later(Error const& error) {
  log(Severity::error, std::string("cannot start a data process, will retry: ") + error.what());
  restart_due_ = true;
  restart_.note_failure(Retry::Clock::now());
}

void DataLink::attach(FileDescriptor socket) {
  connection_ = std::make_unique<Connection>(
      loop_, Channel(std::move(socket), limits), [this](Message& message) { on_message(message); },
      [this] { loop_.later([this] { on_close(); }); });
  connection_->read_while_sending(max_output);
  connection_->serve_in_turn(fairness_group_);
  has_reported_ = false;
}

/// Connects to the data process that an earlier control process has started. The data process then reports
/// that it is ready.
bool DataLink::adopt() {
  FileDescriptor socket = connect_unix(field<std::string>(setup_, "adoption"));
  if (!socket && is_shortage(errno)) throw_unavailable("cannot look for a data process", errno);
  auto const other = socket ? credentials_of(socket) : std::nullopt;
  if (!other || !(main_process_.is_data_user(other->uid) || other->uid == ::geteuid())) return false;
  main_process_.report_adopted(field<std::string>(setup_, "grant"), other->uid);
  pid_ = other->pid;
  adopting_ = true;
  attach(std::move(socket));
  log(Severity::info, "data process " + std::to_string(pid_) + " of grant " +
                          field<std::string>(setup_, "grant") + " is taken over");
  return true;
}

void DataLink::spawn() {
  // Must come first: without the file no process is needed, and an administrator has to act before the next
  // attempt.
  std::optional<GrantFile::Opened> file;
  try {
    if (events_.open_file) file = events_.open_file();
  } catch (Shortage const&) {
    throw;
  } catch (Error const& error) {
    return give_up(error);
  }
  bool const has_content = !memory_.empty() || (file && !file->is_new);
  if (!has_content && events_.window_count() != 0) events_.on_memory_lost();
  Json message = setup_;
  message["op"] = "setup";
  message["window_count"] = events_.window_count();
  is_memory_inherited_ = !memory_.empty();
  message["renew_control"] = must_recreate_control_;
  if (file) message["new_file"] = file->is_new;
  std::vector<FileDescriptor> memory = memory_for_process(std::move(file));
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0)
    throw_unavailable("socketpair", errno);
  FileDescriptor ours(pair[0]);
  pid_ = main_process_.start(field<std::string>(setup_, "grant"), FileDescriptor(pair[1]));
  adopting_ = false;
  attach(std::move(ours));
  connection_->post(message, {}, std::move(memory));
  must_recreate_control_ = false;
}

/// A message that fails is logged and not answered: the connection stays open. The log is limited in rate,
/// because a compromised process may send any number of such messages.
void DataLink::on_message(Message& message) {
  try {
    take(message);
  } catch (Error const& error) {
    auto const omitted = failures_.take(fairness_group_, TokenBuckets::Clock::now());
    if (!omitted) return;
    log(Severity::error, "a message of a data process failed: " + shortened(error.what(), max_logged) +
                             (*omitted == 0 ? "" : "; " + std::to_string(*omitted) + " more before"));
  }
}

/// The process reports once on a connection that it is ready, or has failed.
void DataLink::take_report(Message& message, std::string const& op) {
  if (std::exchange(has_reported_, true))
    throw Error(ErrorCode::malformed, "a data process has reported its state already");
  if (op == "ready") return on_ready(message);
  try {
    throw_if_refused(message.head);
  } catch (Error const& error) {
    // Another data process uses the memory already: the next start adopts that process.
    if (error.code() != ErrorCode::exists) give_up({error.code(), shortened(error.what(), max_logged)});
  }
}

/// A report is charged to its user only if the process was handed a session of that user; otherwise to the
/// grant's owner.
void DataLink::on_denied(Json const& report) {
  auto const user = field<uid_t>(report, "uid");
  events_.on_denied(report, served_.contains(user) ? user : owner());
}

void DataLink::take(Message& message) {
  auto const op = field<std::string>(message.head, "op");
  if (op == "ready" || op == "failed") {
    take_report(message, op);
  } else if (op == "usage") {
    usage_ = usage_in(message.head);
    sessions_.acknowledge(field_or(message.head, "taken", std::uint64_t{0}));
    pass_sessions();
  } else if (op == "load") {
    send_windows(field<std::uint64_t>(message.head, "after"));
  } else if (op == "create") {
    on_create(message.head);
  } else if (op == "changed") {
    on_changed(field<std::uint64_t>(message.head, "change"));
  } else if (op == "denied") {
    on_denied(message.head);
  } else if (op == "stored") {
    awaits_stored_ = false;
  } else if (op == "lost") {
    events_.on_window_lost(field<std::string>(message.head, "window"));
  }
}

/// On an error, an adopted process continues with the windows that it has. A process that has just started
/// needs all windows, and ends; if another process has locked the catalog, the next data process reads it.
void DataLink::send_windows(std::uint64_t after) {
  Json page;
  try {
    page = events_.window_page(after);
  } catch (Error const& error) {
    if (ready_) {
      awaits_catalog_ = false;
      throw;
    }
    connection_->post({{"op", "end"}});
    if (error.code() == ErrorCode::unavailable) throw;
    return give_up(error);
  }
  page["op"] = "windows";
  connection_->post(page);
  if (field<std::uint64_t>(page, "next") != 0) return;
  awaits_catalog_ = false;
  pass_sessions();
}

void DataLink::on_ready(Message& message) {
  if (ending_) return on_ready_at_end();
  is_memory_inherited_ = is_memory_inherited_ || adopting_;
  reports_changes_ = field_or(message.head, "tells_changes", false);
  if (!reports_changes_) end_changes();
  if (!message.descriptors.empty()) {
    take_memory(std::move(message.descriptors));
  }
  // Another version may have other fields.
  if (field_or(message.head, "protocol", 1u) != data_protocol_version) return replace_process();
  usage_ = usage_in(message.head);
  if (field_or(message.head, "encrypt", false) != field<bool>(setup_, "encrypt")) {
    log(Severity::info, "data process " + std::to_string(pid_) +
                            " was started with another --encrypt, and is "
                            "replaced");
    return connection_->post({{"op", "end"}});
  }
  if (!complete_file()) return;
  awaits_catalog_ = adopting_;
  if (adopting_) connection_->post({{"op", "adopt"}});
  ready_ = true;
  report_admins();
  if (!std::exchange(was_ready_, true)) events_.on_ready();
  pass_sessions();
}

/// Returns false after a failure, which ends the process.
bool DataLink::complete_file() {
  try {
    if (events_.on_file_complete) events_.on_file_complete();
    return true;
  } catch (Error const& error) {
    connection_->post({{"op", "end"}});
    give_up(error);
    return false;
  }
}

/// Ends a process of an earlier server; the next process takes over the memory with the windows of the
/// catalog. Clients that have mapped these windows are of the earlier version, too, and find the windows
/// gone.
void DataLink::replace_process() {
  log(Severity::info, "data process " + std::to_string(pid_) + " of grant " +
                          field<std::string>(setup_, "grant") + " is of an earlier version, and is replaced");
  must_recreate_control_ = true;
  connection_->post({{"op", "end"}});
}

void DataLink::on_create(Json const& request) {
  Json answer;
  auto const window = request.find("window");
  if (window == request.end()) throw Error(ErrorCode::malformed, "the message has no 'window'");
  try {
    answer = {{"port", events_.create(*window)}};
  } catch (Error const& error) {
    answer = to_answer(error);
  }
  answer["op"] = "created";
  answer["creation"] = field<std::uint64_t>(request, "creation");
  connection_->post(answer);
}

void DataLink::on_close() {
  connection_.reset();
  sessions_.forget_unacknowledged();
  end_changes();
  bool const has_served = std::exchange(ready_, false);
  if (ending_ && !must_store_) must_store_ = std::exchange(awaits_stored_, false);
  if (ending_ && !must_store_) return events_.on_ended();
  if (!failure_.empty()) return;
  log(Severity::warning, "data process " + std::to_string(pid_) + " of grant " +
                             field<std::string>(setup_, "grant") + " has ended");
  restart_due_ = true;
  // The budget limits a process that is adopted and ends in a loop to one start a second (tick()).
  if (has_served && restarts_.take(fairness_group_, TokenBuckets::Clock::now())) tick();
}

void DataLink::tick() {
  sessions_.drop_abandoned();
  bool const has_evicted = field_or(usage_, "evicted", std::uint64_t{0}) != 0;
  if (is_memory_inherited_ && has_evicted && ready_ && !ending_) release_evicted();
  bool const may_start = (!ending_ || must_store_) && failure_.empty();
  if (!restart_due_ || !may_start || !restart_.is_due(Retry::Clock::now())) return;
  restart_due_ = false;
  try {
    start_process();
  } catch (Error const& error) {
    start_later(error);
  }
}

void DataLink::retry() {
  // A process that has failed and is still there is replaced when its connection ends.
  if (std::exchange(failure_, {}).empty() || ending_ || connection_) return;
  start(OnFailure::give_up);
}

void DataLink::give_up(Error const& error) {
  failure_ = error.what();
  log(Severity::error, "grant " + field<std::string>(setup_, "grant") + ": " + error.what());
  sessions_.refuse_all(
      Error(ErrorCode::unavailable, std::string("the grant's memory is unavailable: ") + error.what()));
  events_.on_failed(error);
  abandon_storing();
}

void DataLink::hand_over(SessionQueue::Entry session) {
  sessions_.add(std::move(session));
  pass_sessions();
  if (!failure_.empty())
    sessions_.refuse_all(Error(ErrorCode::unavailable, "the grant's memory is unavailable: " + failure_));
}

void DataLink::pass_sessions() {
  // If the process has just ended, the clients' sockets are closed here.
  InterruptedWait const interrupted;
  std::vector<uid_t> const admins = events_.admins();
  while (ready_ && !awaits_catalog_) {
    auto next = sessions_.next();
    if (!next) return;
    auto& [socket, session] = *next;
    // Its user may have been an administrator when the session began to wait.
    session["admin"] = std::find(admins.begin(), admins.end(), field<uid_t>(session, "uid")) != admins.end();
    session["op"] = "session";
    for (char const* const user : {"uid", "account"}) served_.insert(field<uid_t>(session, user));
    std::vector<FileDescriptor> passed;
    passed.push_back(std::move(socket));
    connection_->post(session, {}, std::move(passed));
  }
}

bool DataLink::is_behind() const noexcept { return connection_ && connection_->output_bytes() > max_output; }

/// A process that starts afterwards finds the window in the list of segments and not in the catalog.
void DataLink::remove_window(std::string const& window) {
  if (connection_) connection_->post({{"op", "remove"}, {"window", window}});
}

/// A process that is not ready has no sessions yet, and receives the list when it becomes ready.
void DataLink::report_admins() {
  if (ready_) connection_->post({{"op", "admins"}, {"users", events_.admins()}});
}

/// A process that starts reads the mode from the catalog.
void DataLink::change_mode(std::string const& window, unsigned mode, std::function<void()> in_force) {
  std::uint64_t const change = next_change_++;
  changes_.emplace(change, std::move(in_force));
  if (!connection_ || (ready_ && !reports_changes_)) return end_changes();
  connection_->post({{"op", "chmod"}, {"window", window}, {"mode", mode}, {"change", change}});
}

void DataLink::on_changed(std::uint64_t change) {
  if (auto const found = changes_.extract(change)) loop_.later(std::move(found.mapped()));
}

void DataLink::end_changes() {
  for (auto& [change, in_force] : std::exchange(changes_, {})) loop_.later(in_force);
}

}  // namespace mpixrma::nam
