#include "nam/server/audit.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>

#include "nam/process/log.hpp"
#include "nam/protocol/error.hpp"
#include "nam/protocol/host_address.hpp"
#include "nam/protocol/socket.hpp"
#include "nam/protocol/text.hpp"

namespace mpixrma::nam {

namespace {

constexpr double lines_a_second = 20;
constexpr double max_lines = 100;  ///< at once
constexpr double host_lines_a_second = 100;
constexpr double max_host_lines = 500;  ///< at once
constexpr char const* all_hosts = "hosts";
constexpr std::size_t longest_field = 300;

std::string time_now() {
  std::time_t const now = std::time(nullptr);
  std::tm parts{};
  char text[32];
  ::gmtime_r(&now, &parts);
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

/// Escapes quotes and backslashes, so that any other '\' begins a "\xNN" of printable().
std::string quoted_whole(std::string_view left) {
  std::string shown = "\"";
  for (std::size_t at = left.find_first_of("\"\\"); at != std::string_view::npos;
       at = left.find_first_of("\"\\")) {
    shown += printable(left.substr(0, at)) + '\\' + left[at];
    left.remove_prefix(at + 1);
  }
  return shown + printable(left) + '"';
}

/// Returns `text` in quotes, cut to `longest_field` bytes: an escaped byte takes up to four.
std::string quoted(std::string_view text) {
  std::string shown = quoted_whole(shortened(text, longest_field));
  return shown.size() <= longest_field + 5 ? shown : quoted_whole(shortened(text, longest_field / 4));
}

/// Returns the host of a connection, without the port, which the peer chooses. An IPv6 host is represented by
/// its network, because one host may use all addresses of the network.
std::string host_in(std::string_view from) {
  std::string_view const host = from.substr(0, from.rfind(':'));
  if (!host.starts_with('[') || !host.ends_with(']')) return std::string(host);
  auto const address = host_address(std::string(host.substr(1, host.size() - 2)));
  return address ? to_text(network_of(*address)) : std::string(host);
}

}  // namespace

std::string describe_peer(engine::FileDescriptor const& socket) {
  if (auto const credentials = credentials_of(socket)) return "pid " + std::to_string(credentials->pid);
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  char text[INET6_ADDRSTRLEN] = "";
  if (::getpeername(socket.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0) return "unknown";
  if (address.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &address, sizeof v4);
    ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof text);
    return std::string(text) + ":" + std::to_string(ntohs(v4.sin_port));
  }
  if (address.ss_family != AF_INET6) return "unknown";
  sockaddr_in6 v6{};
  std::memcpy(&v6, &address, sizeof v6);
  ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof text);
  return std::string(1, '[').append(text).append("]:").append(std::to_string(ntohs(v6.sin6_port)));
}

AuditLog::AuditLog(std::string file)
    : file_(std::move(file)),
      users_(lines_a_second, max_lines),
      hosts_(lines_a_second, max_lines),
      all_hosts_(host_lines_a_second, max_host_lines) {
  reopen();
  if (!file_.empty() && !opened_)
    throw Error(ErrorCode::bad_request,
                "cannot write the audit log to " + file_ + ": " + std::strerror(errno));
}

void AuditLog::reopen() {
  if (file_.empty()) return;
  engine::FileDescriptor fresh(
      ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR));
  if (fresh) opened_ = std::move(fresh);
}

void AuditLog::record(Act const& act) {
  bool const is_host = act.user.empty();
  std::string const source =
      is_host ? host_in(act.from) : std::string(act.account.empty() ? act.user : act.account);
  bool const is_act = act.result != omitted_acts;
  auto const now = TokenBuckets::Clock::now();
  std::uint64_t const acts = act.omitted + (is_act ? 1 : 0);
  auto const omitted = (is_host ? hosts_ : users_).take(source, now, acts);
  if (!omitted) return;
  auto const of_all = is_host ? all_hosts_.take(all_hosts, now, acts + *omitted) : 0;
  if (of_all) write_line(act, act.omitted + *omitted);
  if (of_all && *of_all != 0) write_line({"", all_hosts, "", "", omitted_acts}, *of_all);
}

void AuditLog::report_omitted() {
  auto const now = TokenBuckets::Clock::now();
  for (TokenBuckets::Refused const& each : users_.take_refused(now))
    write_line({each.source, "", "", "", omitted_acts}, each.count);
  for (TokenBuckets::Refused const& each : hosts_.take_refused(now))
    write_line({"", each.source, "", "", omitted_acts}, each.count);
  for (TokenBuckets::Refused const& each : all_hosts_.take_refused(now))
    write_line({"", each.source, "", "", omitted_acts}, each.count);
}

void AuditLog::write_line(Act const& act, std::uint64_t omitted) {
  std::string line = "audit user=" + quoted(act.user) + " from=" + quoted(act.from) +
                     " request=" + quoted(act.request) + " object=" + quoted(act.object) +
                     " result=" + std::string(act.result);
  if (!act.reason.empty()) line += " reason=" + quoted(act.reason);
  if (omitted != 0) line += " omitted=" + std::to_string(omitted);
  write(line);
}

void AuditLog::write(std::string const& line) {
  if (!opened_) return log(Severity::warning, line);
  std::string const text = time_now() + " " + line + "\n";
  bool const good = ::write(opened_.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!good && !std::exchange(has_failed_, true))
    log(Severity::error, "cannot write the audit log " + file_ + ": " + std::strerror(errno));
  if (good) has_failed_ = false;
}

}  // namespace mpixrma::nam
