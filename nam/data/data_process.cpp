#include "nam/data/data_process.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "engine/memory/fault_guard.hpp"
#include "nam/process/admission.hpp"
#include "nam/process/log.hpp"
#include "nam/protocol/descriptor_refusal.hpp"
#include "nam/protocol/descriptors.hpp"
#include "nam/protocol/shortage.hpp"
#include "nam/protocol/socket.hpp"
#include "nam/protocol/version.hpp"

namespace mpixrma::nam {

namespace {

constexpr ChannelLimits control_limits{.head_bytes = 8u << 20, .data_bytes = 0, .descriptors = 5};
/// Seconds without a control process. A control process that has ended is started again by its supervisor.
constexpr int longest_alone = 600;
constexpr std::chrono::milliseconds usage_delay{50};

}  // namespace

DataProcess::DataProcess(FileDescriptor control) {
  if (!enable_interrupted_waits())
    log(Severity::warning, "the system has no timer left: descriptors that clients send may delay the grant");
  attach_control(std::move(control));
  loop_.on_signals({SIGTERM, SIGINT, SIGHUP}, [this](int signal) {
    if (signal == SIGTERM) loop_.stop();  // the control process decides about the others
  });
  loop_.every(std::chrono::seconds(1), [this] {
    reclaim_cached(Cached::idle_for_a_second);
    end_silent_sessions();
    end_lost_sessions();
    if (remote_.engine) remote_.engine->renew_keys();
    trim_memory();
    check_accepted();
    reclaim_retired();
    store_some();
    wait_for_control();
    report_omitted_denials();
  });
  loop_.linger(std::chrono::microseconds(100));
  reservation_.timer = loop_.add_timer([this] { reserve_next(); });
  usage_report_.timer = loop_.add_timer([this] {
    usage_report_.is_due = false;
    report_usage();
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
  adoption_.seconds_alone = 0;
  usage_report_.sessions_taken = 0;
}

void DataProcess::lose_control() {
  control_.reset();
  catalog_.loading.reset();
  if (!memory_.storage || !catalog_.is_loaded) return loop_.stop();  // the next control process starts one
  log(Severity::warning, "the control process has ended; waiting for a new one");
  for (auto const& [id, pending] : std::exchange(catalog_.pending, {})) {
    // The catalog may have the window: reconcile() drops the window, and the next control process removes it
    // from the catalog.
    catalog_.unconfirmed.push_back(pending.window);
    auto const session = sessions_.find(pending.session);
    if (session == sessions_.end()) continue;
    session->second.connection->post(
        to_answer(Error(ErrorCode::unavailable, "the server's control process has gone")));
    session->second.connection->resume();
  }
}

/// Accepts a new control process if there is none.
void DataProcess::be_adopted() try {
  // Before the control process is accepted, which would wait for the memory.
  std::vector<FileDescriptor> memory = memory_to_pass();
  FileDescriptor socket = accept_from(adoption_.socket);
  if (!socket && is_shortage(errno)) throw_unavailable("cannot accept a control process", errno);
  if (!socket || control_) return;
  attach_control(std::move(socket));
  catalog_.loading.emplace().adopted = true;
  report_ready(std::move(memory));
} catch (Shortage const&) {
  loop_.pause(adoption_.socket.get(), std::chrono::milliseconds(100));
}

void DataProcess::report_ready(std::vector<FileDescriptor> memory) {
  Json ready = usage();
  ready["protocol"] = data_protocol_version;
  ready["encrypt"] = remote_.network.encrypt;
  ready["tells_changes"] = true;
  ready["op"] = "ready";
  control_->post(ready, {}, std::move(memory));
}

/// Returns the descriptors for the control process, which keeps them beyond the life of this one.
std::vector<FileDescriptor> DataProcess::memory_to_pass() const {
  std::vector<FileDescriptor> memory;
  memory.push_back(duplicate_of(memory_.segments->descriptor()));
  memory.push_back(duplicate_of(memory_.shared->descriptor()));
  memory.push_back(duplicate_of(memory_.storage->descriptor()));
  return memory;
}

/// Called once a second. Nobody restarts a temporary server: its windows last as long as they are used.
void DataProcess::wait_for_control() {
  if (control_) return;
  bool const goes_on =
      adoption_.is_temporary ? !sessions_.empty() : ++adoption_.seconds_alone <= longest_alone;
  if (goes_on) return;
  log(Severity::error, "no control process has come back; the memory of the grant is freed");
  exit_code_ = 1;
  end_keeping_windows();
}

/// A message that fails is logged and not answered: an answer would be a request to the control process, and
/// the link has to last.
void DataProcess::on_control(Message& message) {
  try {
    handle_control_message(message);
  } catch (Error const& error) {
    log(Severity::error, std::string("a message of the control process failed: ") + error.what());
  }
}

void DataProcess::handle_control_message(Message& message) {
  auto const op = field<std::string>(message.head, "op");
  if (op == "setup") {
    set_up(message);
  } else if (op == "adopt") {
    control_->post({{"op", "load"}, {"after", 0u}});
  } else if (op == "windows") {
    load(message.head);
  } else if (op == "session") {
    ++usage_report_.sessions_taken;
    report_usage();  // also for a session that fails
    open_session(message);
  } else if (op == "created") {
    on_created(message.head);
  } else if (op == "remove") {
    remove_window(field<std::string>(message.head, "window"));
  } else if (op == "unmapped") {
    release_inherited();
  } else if (op == "chmod") {
    change_mode(field<std::string>(message.head, "window"), field<unsigned>(message.head, "mode"));
    // A control process of an earlier server expects no answer.
    if (message.head.contains("change"))
      control_->post({{"op", "changed"}, {"change", message.head["change"]}});
  } else if (op == "admins") {
    end_former_admins(field<std::vector<uid_t>>(message.head, "users"));
  } else if (op == "end") {
    field_or(message.head, "keep_windows", true) ? end_keeping_windows() : end_discarding_windows();
  }
}

/// The new mode applies to the next request of each session. A session that may no longer write loses its
/// exclusive locks of the window, one without any right all of its locks.
void DataProcess::change_mode(std::string const& window, unsigned mode) {
  if (auto const found = windows_.find(window); found != windows_.end()) {
    ServedWindow& served = found->second;
    served.window.ownership.mode = mode;
    revoke_locks_without_right(served);
  }
  if (catalog_.loading && catalog_.loading->listed.contains(window))
    catalog_.loading->listed.at(window).ownership.mode = mode;
}

/// Withdraws all windows; clients find out when they use them.
void DataProcess::withdraw_all() noexcept {
  if (memory_.shared) memory_.shared->withdraw_others({});
}

/// The grant continues with the next data process.
void DataProcess::end_keeping_windows() {
  withdraw_all();
  store_all();
  if (control_) control_->post({{"op", "stored"}});
  loop_.stop();
}

void DataProcess::end_discarding_windows() {
  withdraw_all();
  if (memory_.storage) memory_.storage->discard();
  loop_.stop();
}

/// Handles the catalog's answer about a new persistent window.
void DataProcess::on_created(Json const& answer) {
  auto const found = catalog_.pending.find(field<std::uint64_t>(answer, "creation"));
  if (found == catalog_.pending.end()) return;
  Pending const pending = found->second;
  catalog_.pending.erase(found);
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
  std::uint64_t const free = memory_.free ? memory_.free->free_bytes() : 0;
  auto const persistent = std::count_if(windows_.begin(), windows_.end(),
                                        [](auto const& entry) { return entry.second.window.persistent; });
  return {{"used", memory_.storage ? memory_.storage->bytes() - free : 0},
          {"free", free},
          {"largest_free", memory_.free ? memory_.free->largest_free() : 0},
          {"windows", windows_.size()},
          {"persistent", persistent},
          {"evicted", evicted_windows()},
          {"sessions", sessions_.size()}};
}

/// Windows that are not persistent are made and freed often: the control process is not woken for each.
void DataProcess::report_usage_of(Window const& window) {
  if (window.persistent) return report_usage();
  report_usage_soon();
}

void DataProcess::report_usage_soon() {
  if (!std::exchange(usage_report_.is_due, true)) EventLoop::start_timer(usage_report_.timer, usage_delay);
}

/// Reports the usage once for all that happens now.
void DataProcess::report_usage() {
  if (!std::exchange(usage_report_.is_sent, false)) return;
  loop_.later([this] {
    usage_report_.is_sent = true;
    if (!control_) return;
    // Sent only if nothing else waits: however long the control process does not read, at most one message
    // waits.
    if (control_->output_bytes() != 0) return report_usage_soon();
    Json report = usage();
    report["op"] = "usage";
    report["taken"] = std::exchange(usage_report_.sessions_taken, 0);
    control_->post(report);
  });
}

}  // namespace mpixrma::nam
