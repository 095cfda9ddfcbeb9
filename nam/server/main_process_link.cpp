#include "nam/server/main_process_link.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "nam/process/log.hpp"
#include "nam/protocol/descriptors.hpp"
#include "nam/protocol/shortage.hpp"

namespace mpixrma::nam {

namespace {

constexpr std::chrono::milliseconds first_pause{10};
constexpr std::chrono::seconds longest_starvation{10};  ///< the whole server waits meanwhile

}  // namespace

MainProcessLink::MainProcessLink(FileDescriptor socket, std::chrono::milliseconds patience)
    : channel_(std::move(socket), main_process_limits), patience_(patience) {
  for (;;) {
    Message message = receive();
    auto const op = field<std::string>(message.head, "op");
    if (op == "listener") {
      for (FileDescriptor& each : message.descriptors)
        listeners_.push_back({std::move(each), field<std::string>(message.head, "host"),
                              field<bool>(message.head, "inherited")});
    } else if (op == "held") {
      memory_[field<std::string>(message.head, "grant")] = std::move(message.descriptors);
    } else if (op == "begin") {
      first_user_ = field<std::uint64_t>(message.head, "first_user");
      users_ = field<std::uint64_t>(message.head, "users");
      return;
    }
  }
}

void MainProcessLink::await(short events) const {
  pollfd entry{channel_.descriptor(), events, 0};
  if (::poll(&entry, 1, static_cast<int>(patience_.count())) == 0)
    throw Error(ErrorCode::unavailable, "the main process of the server does not answer");
}

Message MainProcessLink::receive() {
  for (;;) {
    if (auto message = channel_.next()) return std::move(*message);
    await(POLLIN);
    bool const open = channel_.fill();
    if (auto message = channel_.next()) return std::move(*message);
    if (!open) throw Error(ErrorCode::unavailable, "the main process of the server has gone");
  }
}

void MainProcessLink::send(Json const& head, std::vector<FileDescriptor> descriptors) {
  channel_.post(head, {}, std::move(descriptors));
  std::chrono::milliseconds starved{0};
  for (;;) {
    if (!channel_.flush()) throw Error(ErrorCode::unavailable, "the main process of the server has gone");
    if (!channel_.has_output()) return;
    if (channel_.is_starved()) {
      await_resources(&starved);
    } else {
      await(POLLOUT);
    }
  }
}

/// Returns the answer to the request. Skips those to earlier requests, which came too late.
Json MainProcessLink::ask(Json request, std::vector<FileDescriptor> descriptors) {
  request["request"] = ++requests_;
  send(request, std::move(descriptors));
  for (;;) {
    Json answer = receive().head;
    if (field_or(answer, "request", std::uint64_t{0}) == requests_) return answer;
  }
}

/// Waits twice as long each time, and finally withdraws the message: nobody waits for its effect any more.
void MainProcessLink::await_resources(std::chrono::milliseconds* waited) {
  char const* const reason = "the system lacks memory, or has too many descriptors in flight";
  if (waited->count() == 0)
    log(Severity::warning,
        std::string("waits for at most ") + std::to_string(longest_starvation.count()) + " s: " + reason);
  if (*waited > longest_starvation) {
    channel_.withdraw_unsent();
    throw Shortage(reason);
  }
  auto const pause = std::max(*waited, first_pause);
  std::this_thread::sleep_for(pause);
  *waited += pause;
}

std::vector<FileDescriptor> MainProcessLink::take_memory(std::string const& grant) {
  auto const found = memory_.find(grant);
  if (found == memory_.end()) return {};
  return std::move(memory_.extract(found).mapped());
}

std::vector<std::string> MainProcessLink::untaken() const {
  std::vector<std::string> grants;
  for (auto const& [grant, memory] : memory_) grants.push_back(grant);
  return grants;
}

bool MainProcessLink::is_data_user(uid_t uid) const noexcept {
  return users_ == 0 ? uid == ::geteuid() : uid >= first_user_ && uid - first_user_ < users_;
}

pid_t MainProcessLink::start(std::string const& grant, FileDescriptor socket) {
  std::vector<FileDescriptor> passed;
  passed.push_back(std::move(socket));
  adopted_.erase(grant);
  Json const answer = ask({{"op", "start"}, {"grant", grant}}, std::move(passed));
  try {
    throw_if_refused(answer);
  } catch (Error const& error) {
    // The system has no process or descriptor left.
    if (error.code() == ErrorCode::unavailable) throw Shortage(error.what());
    throw;
  }
  return static_cast<pid_t>(field<std::uint32_t>(answer, "pid"));
}

void MainProcessLink::report_adopted(std::string const& grant, uid_t uid) {
  adopted_[grant] = uid;
  send({{"op", "adopted"}, {"grant", grant}, {"uid", uid}}, {});
}

void MainProcessLink::hold(std::string const& grant, std::vector<FileDescriptor> memory) {
  send({{"op", "hold"}, {"grant", grant}}, std::move(memory));
}

void MainProcessLink::drop(std::string const& grant) { send({{"op", "drop"}, {"grant", grant}}, {}); }

void MainProcessLink::kill(std::string const& grant, pid_t pid) {
  Json request{{"op", "kill"}, {"grant", grant}};
  if (auto const adopted = adopted_.find(grant); adopted != adopted_.end()) {
    request["pid"] = static_cast<std::uint32_t>(pid);
    request["uid"] = adopted->second;
  }
  send(request, {});
}

bool MainProcessLink::is_open_elsewhere(FileDescriptor const& memory) {
  std::vector<FileDescriptor> passed;
  try {
    passed.push_back(duplicate_of(memory));
  } catch (Shortage const&) {
    return true;  // it may be open
  }
  return field<bool>(ask({{"op", "is_open"}}, std::move(passed)), "open");
}

void MainProcessLink::keep_listener(FileDescriptor const& listener, std::string const& host) {
  std::vector<FileDescriptor> passed;
  passed.push_back(duplicate_of(listener));
  send({{"op", "listener"}, {"host", host}}, std::move(passed));
}

void MainProcessLink::notify(std::string const& state) { send({{"op", "notify"}, {"state", state}}, {}); }

}  // namespace mpixrma::nam
