/// The control process's side of a data process: starts it, or finds the running one; restarts it when it
/// dies; hands it sessions.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nam/data/storage.hpp"
#include "nam/data/window.hpp"
#include "nam/process/connection.hpp"
#include "nam/process/token_buckets.hpp"
#include "nam/server/grant_file.hpp"
#include "nam/server/main_process_link.hpp"
#include "nam/server/retry.hpp"
#include "nam/server/session_queue.hpp"

namespace mpixrma::nam {

class DataLink {
 public:
  struct Events {
    std::function<void()> on_ready{};                        ///< the process is ready for the first time
    std::function<void(Error const&)> on_failed{};           ///< the start has failed; waits for retry()
    std::function<std::vector<uid_t>()> admins{};            ///< current administrators of the server
    std::function<std::uint64_t()> window_count{};           ///< windows of the grant in the catalog
    std::function<Json(std::uint64_t after)> window_page{};  ///< the windows of the catalog after `after`
    std::function<void()> on_memory_lost{};                  ///< the content of windows is lost. Throws Error
    std::function<std::string(Json const&)> create{};  ///< stores a window, returns its port. Throws Error
    std::function<void()> on_ended{};                  ///< after end()
    /// A denied request of a session, for the audit, and the user whose budget of audit lines it uses.
    std::function<void(Json const&, uid_t)> on_denied{};
    std::function<void(std::string const&)> on_window_lost{};  ///< a window of the catalog is missing
    std::function<GrantFile::Opened()> open_file{};            ///< of a grant stored in a file. Throws Error
    std::function<void()> on_file_complete{};                  ///< the file is complete. Throws Error
  };

  /// `setup` is the message that the data process gets, without the windows. `storage`: of the grant.
  /// `fairness_group`: the group in whose turns the event loop serves messages of the data process.
  DataLink(EventLoop& loop, MainProcessLink& main_process, Json setup, StorageKind storage,
           std::string fairness_group, Events events);

  /// Whether start() is tried again after the catalog could not be written: its disk was full, or another
  /// process had locked it. After a shortage of descriptors or memory, start() is always tried again.
  enum class OnFailure { give_up, try_again };
  /// Adopts the data process that runs, or starts one.
  void start(OnFailure on_failure);
  bool is_ready() const noexcept { return ready_; }
  /// Returns why the memory is missing and the start is not tried again; otherwise empty.
  std::string const& failure() const noexcept { return failure_; }
  /// Tries again after a failure.
  void retry();
  /// Whether the content of the memory still exists.
  bool has_memory() const noexcept { return !memory_.empty(); }
  pid_t pid() const noexcept { return pid_; }
  Json const& usage() const noexcept { return usage_; }

  /// Hands over a session, which waits until the process is ready and has taken all earlier ones.
  void hand_over(SessionQueue::Entry session);
  /// As SessionQueue::give_way.
  bool give_way(std::uint64_t connection, Error const& why) { return sessions_.give_way(connection, why); }
  /// Whether so much waits to be sent to the process that only necessary messages are to be added.
  bool is_behind() const noexcept;
  /// The memory of the window, which the catalog does not have any more, stays reserved while processes map
  /// it.
  void remove_window(std::string const& window);
  /// Changes the mode of a window; `in_force` is called in the event loop when no request is served with the
  /// old mode any more.
  void change_mode(std::string const& window, unsigned mode, std::function<void()> in_force);
  /// Ends the sessions of users who are not administrators any more.
  void report_admins();
  /// The windows of a process that ends: the content of their memory goes to the storage file, or is lost.
  enum class WindowsAtEnd { kept, discarded };
  /// Ends the process permanently. If windows are to be kept that only the memory has, and no process can
  /// write them to the storage file, one is started first.
  void end(WindowsAtEnd windows);
  /// Ends the data process, and drops the memory, of a grant that an earlier control process has removed from
  /// the catalog. Instead of start().
  void end_leftover();
  /// Does not wait any more for a process that writes the windows to the storage file.
  void abandon_storing();
  /// Kills the process of an ended grant if the process does not end by itself: the grant's owner may have
  /// blocked the process through the memory that they share.
  void enforce_end();
  uid_t owner() const { return setup_.at("owner").get<uid_t>(); }
  /// Returns the bytes that the grant takes from the server: all until the process has ended, and then those
  /// that are not released yet, or that clients have touched since through remaining mappings.
  std::uint64_t occupied_bytes() const;
  /// Called after the process has ended. Gives memory back to the system, a part in each call. Returns true
  /// when none is left, and no process has a descriptor or a mapping of it.
  bool release_memory();
  bool has_ended() const noexcept { return ending_ && !connection_ && !must_store_; }
  /// Called once a second.
  void tick();

 private:
  bool adopt();
  void start_process();
  void start_later(Error const& error);
  void spawn();
  void attach(FileDescriptor socket);
  std::vector<FileDescriptor> memory_for_process(std::optional<GrantFile::Opened> file) const;
  void take_memory(std::vector<FileDescriptor> passed);
  void hold_memory();
  void on_message(Message& message);
  void take(Message& message);
  void send_windows(std::uint64_t after);
  void on_ready(Message& message);
  void take_report(Message& message, std::string const& op);
  void on_denied(Json const& report);
  void on_create(Json const& request);
  void on_changed(std::uint64_t change);
  void end_changes();
  void replace_process();
  void on_close();
  void give_up(Error const& error);
  void pass_sessions();
  bool is_in_use(std::span<FileDescriptor const> memory);
  bool has_process_that_stores() const noexcept;
  void end_process(WindowsAtEnd windows);
  void on_ready_at_end();
  void report_loss(std::string const& why) const;
  bool complete_file();
  void release_evicted();

  EventLoop& loop_;
  MainProcessLink& main_process_;
  Json setup_;
  bool volatile_;
  std::string fairness_group_;
  Events events_;
  std::unique_ptr<Connection> connection_;
  /// Kept, so that it outlives the process: the list of segments, unless it is an earlier version's, the
  /// control memory, and the memory.
  std::vector<FileDescriptor> memory_;
  bool is_memory_inherited_ =
      false;  ///< clients of an earlier process, which this one does not know, may map the memory
  pid_t pid_ = 0;
  bool adopting_ = false;
  bool awaits_catalog_ = false;  ///< the adopted process has not read the modes of its windows again yet
  bool ready_ = false;
  bool must_recreate_control_ = false;  ///< the control memory that was kept is an earlier version's
  bool was_ready_ = false;
  bool has_reported_ = false;     ///< the process is ready or has failed
  TokenBuckets failures_{1, 10};  ///< log lines about failed messages of the process
  TokenBuckets restarts_{1, 10};  ///< immediate restarts; others wait for tick()
  std::set<uid_t> served_;        ///< users whose sessions were handed over
  std::string failure_;
  bool ending_ = false;
  bool must_store_ = false;  ///< at the end: a process has yet to start that writes the windows to the file
  bool awaits_stored_ = false;  ///< at the end: the process has not reported yet that it has written them
  bool restart_due_ = false;
  Retry restart_;
  std::optional<std::chrono::steady_clock::time_point> end_deadline_;
  std::uint64_t next_release_offset_ = 0;              ///< for release_memory()
  std::chrono::steady_clock::time_point next_scan_{};  ///< next check for processes that have the memory
  SessionQueue sessions_;
  Json usage_ = Json::object();
  std::map<std::uint64_t, std::function<void()>> changes_;  ///< changes of modes that are not in force yet
  std::uint64_t next_change_ = 1;
  bool reports_changes_ = false;  ///< the process reports them; that of an older server does not
};

}  // namespace mpixrma::nam
