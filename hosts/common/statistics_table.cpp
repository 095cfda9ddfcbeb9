#include "hosts/common/statistics_table.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "engine/runtime/engine.hpp"
#include "hosts/common/hosted.hpp"

namespace mpixrma {

namespace {

constexpr char const* variable = "MPIX_RMA_STATISTICS";

/// Returns "1", the name of a file, or "" if no table is requested.
std::string destination() {
  char const* const given = std::getenv(variable);
  std::string const word = given != nullptr ? given : "";
  return word == "0" ? "" : word;
}

template <typename... Values>
void add_line(std::string& table, char const* format, Values... values) {
  char line[160];
  std::snprintf(line, sizeof line, format, values...);
  table += line;
}

constexpr char const* heading = "[%d] %7s  %-12s  %14s  %18s\n";
constexpr char const* entry = "[%d] %7s  %-12s  %14llu  %18llu\n";

/// Appends one line for each protocol used to `rank`, and one line for the messages of both directions.
void add_rank(std::string& table, int self, std::string const& rank, engine::Traffic const& traffic) {
  for (std::size_t protocol = 0; protocol < engine::protocol_count; ++protocol) {
    if (traffic.operations[protocol] == 0) continue;
    add_line(table, entry, self, rank.c_str(), engine::protocol_names[protocol],
             static_cast<unsigned long long>(traffic.operations[protocol]),
             static_cast<unsigned long long>(traffic.bytes[protocol]));
  }
  if (traffic.messages_sent + traffic.messages_executed == 0) return;
  add_line(table, "[%d] %7s  messages      %14llu sent, %llu executed\n", self, rank.c_str(),
           static_cast<unsigned long long>(traffic.messages_sent),
           static_cast<unsigned long long>(traffic.messages_executed));
}

/// Returns the table of all ranks of `world` that this process has communicated with, and their sum.
std::string make_table(mpix_handle_t world, int self, int size) {
  std::string table;
  add_line(table, heading, self, "rank", "path", "operations", "bytes");
  engine::Traffic sum;
  for (int rank = 0; rank < size; ++rank) {
    engine::Traffic const traffic = traffic_with(world, rank);
    add_rank(table, self, std::to_string(rank), traffic);
    sum += traffic;
  }
  add_rank(table, self, "all", sum);
  return table;
}

/// Writes the table with one write, so that processes that share a file do not interleave their lines if the
/// system writes it atomically.
void write_out(std::string const& file, std::string const& table) {
  int const fd =
      file == "1" ? STDERR_FILENO : ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  std::size_t written = 0;
  while (fd >= 0 && written < table.size()) {
    ssize_t const now = ::write(fd, table.data() + written, table.size() - written);
    if (now < 0 && errno != EINTR) break;
    if (now > 0) written += static_cast<std::size_t>(now);
  }
  if (written < table.size())
    std::fprintf(stderr, "MPIX_RMA: %s: %s: %s\n", variable, file.c_str(), std::strerror(errno));
  if (fd >= 0 && fd != STDERR_FILENO) ::close(fd);
}

}  // namespace

engine::Traffic traffic_with(mpix_handle_t comm, int rank) {
  std::uint64_t process = 0;
  // Does not use the rank's Target, because a query must not create one.
  if (mpix_host_operations()->process_of_rank(comm, rank, &process) != 0) return {};
  return hosted_engine()->traffic.with(process);
}

bool begin_statistics() {
  if (destination().empty()) return false;
  hosted_engine()->count_direct();
  return true;
}

void print_statistics(mpix_handle_t world, int self, int size) {
  static std::atomic<bool> printed{false};
  std::string file = destination();
  if (file.empty() || hosted_engine() == nullptr || printed.exchange(true, std::memory_order_relaxed)) return;
  if (auto const place = file.find("%r"); place != std::string::npos)
    file.replace(place, 2, std::to_string(self));
  write_out(file, make_table(world, self, size));
}

}  // namespace mpixrma
